#include "backends/native/filters/seccomp.h"

#include <linux/filter.h>

#include "base/seccomp_filter.h"

namespace nutshell {
namespace {

constexpr sock_filter kSandboxFilter[] = {
#include "sandbox.seccomp.inc"
};

}  // namespace

Result<> filter_system_calls() {
  return install_seccomp_filter(kSandboxFilter);
}

}  // namespace nutshell
