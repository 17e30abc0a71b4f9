#include "backends/docker/engine/engine_code.h"

#include "containers/container_layout.h"

namespace nutshell::docker {
namespace {

struct KnownWords {
  std::string_view call;
  std::string_view words;
  ErrorCode code;
};

constexpr KnownWords kKnownWords[] = {
    {"/images/create", "unauthorized", ErrorCode::PermissionDenied},
    {"/images/create", "no basic auth credentials", ErrorCode::PermissionDenied},
    {"/images/create", "denied", ErrorCode::PermissionDenied},
    {"/images/create", "authentication required", ErrorCode::PermissionDenied},
    {"/images/create", "incorrect username or password", ErrorCode::PermissionDenied},
    {"/containers/", containers::kInitProgram, ErrorCode::NotFound},  // our volume was emptied
    {"/containers/", "is not running", ErrorCode::Conflict},
};

ErrorCode code_of(int status) {
  switch (status) {
    case 400:
      return ErrorCode::InvalidArgument;
    case 401:
    case 403:
      return ErrorCode::PermissionDenied;
    case 404:
      return ErrorCode::NotFound;
    case 409:
      return ErrorCode::Conflict;
    case 507:
      return ErrorCode::ResourceExhausted;
    default:
      return ErrorCode::Unavailable;
  }
}

}  // namespace

ErrorCode engine_code(int status, std::string_view call, std::string_view words) {
  for (const KnownWords& known : kKnownWords) {
    if (call.find(known.call) != call.npos && words.find(known.words) != words.npos)
      return known.code;
  }
  return code_of(status);
}

}  // namespace nutshell::docker
