#include "core/backend.h"

namespace nutshell {

Result<> Backend::restack(const std::string& /*id*/, const std::vector<std::string>& /*layers*/) {
  return failure(ErrorCode::Unsupported, "this backend has no layers");
}

}  // namespace nutshell
