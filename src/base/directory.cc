#include "base/directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nutshell {

Result<> make_directory(const std::filesystem::path& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return syscall_failure("mkdir", path.native());
  return {};
}

Result<> make_private_directory(const std::filesystem::path& path, std::string_view hint) {
  TRY(make_directory(path));
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return syscall_failure("stat", path.native());
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 077U) == 0)
    return {};
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("{} is not a directory of yours with mode 0700{}{}", path.native(),
                             hint.empty() ? "" : ": ", hint));
}

}  // namespace nutshell
