#include "base/result.h"

#include <fmt/format.h>

#include <cstring>

namespace nutshell {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return ErrorCode::NotFound;
    case EEXIST:
      return ErrorCode::AlreadyExists;
    case EPERM:
    case EACCES:
    case EROFS:
      return ErrorCode::PermissionDenied;
    case EINVAL:
    case E2BIG:
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
      return ErrorCode::InvalidArgument;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case EDQUOT:
      return ErrorCode::ResourceExhausted;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::Unsupported;
    case EPIPE:
    case ECONNREFUSED:
    case ECONNRESET:
      return ErrorCode::Unavailable;
    case ETIMEDOUT:
      return ErrorCode::DeadlineExceeded;
    default:
      return ErrorCode::Internal;
  }
}

}  // namespace

Failure failure(ErrorCode code, std::string message) {
  return Failure(Error{code, std::move(message)});
}

Failure syscall_failure(int error_number, std::string_view what, std::string_view object) {
  const char* reason = ::strerrordesc_np(error_number);
  if (reason == nullptr) reason = "unknown error";
  std::string message = object.empty() ? fmt::format("{}: {}", what, reason)
                                       : fmt::format("{} {}: {}", what, object, reason);
  return failure(code_of(error_number), std::move(message));
}

Failure syscall_failure(std::string_view what, std::string_view object) {
  return syscall_failure(errno, what, object);
}

Failure while_doing(std::string_view what, Error error) {
  error.message = fmt::format("{}: {}", what, error.message);
  return Failure(std::move(error));
}

}  // namespace nutshell
