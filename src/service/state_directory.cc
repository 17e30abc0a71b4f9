#include "service/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace nutshell::service {

Result<StateDirectory> StateDirectory::open(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return syscall_failure("mkdir", path.native());
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return syscall_failure("stat", path.native());
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077U) != 0) {
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("{} is not a directory of yours with mode 0700", path.native()));
  }
  UniqueFd lock = TRY(open_file(path / "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("another daemon uses {}: stop it, or name another state directory",
                               path.native()));
  }
  return StateDirectory(path, std::move(lock));
}

}  // namespace nutshell::service
