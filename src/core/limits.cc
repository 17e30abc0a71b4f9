#include "core/limits.h"

#include "core/text_form.h"

namespace nutshell {

Result<> check_limits(const Limits& limits) {
  return check_bounds(limits);
}

Result<> check_limits(const ExecLimits& limits) {
  return check_bounds(limits);
}

}  // namespace nutshell
