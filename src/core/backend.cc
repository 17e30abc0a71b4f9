#include "core/backend.h"

namespace nutshell {

Result<> Backend::restack(const std::string& /*id*/, const std::vector<std::string>& /*layers*/) {
  return failure(ErrorCode::Unsupported, "this backend has no layers");
}

Result<> Backend::set_time_left(const std::string& /*id*/, std::chrono::milliseconds /*left*/) {
  return failure(ErrorCode::Unsupported, "this backend cannot change when a sandbox ends");
}

Result<SandboxStats> Backend::stats(const std::string& /*id*/) {
  return failure(ErrorCode::Unsupported, "this backend does not count what a sandbox uses");
}

Result<std::vector<std::string>> Backend::environment_of(const std::string& /*id*/) {
  return failure(ErrorCode::Unsupported, "this backend does not keep environments");
}

}  // namespace nutshell
