#include "backends/native/runtime_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"

namespace nutshell::native {
namespace {

std::filesystem::path choose_path() {
  // NOLINTBEGIN(concurrency-mt-unsafe): read before any thread is started
  if (const char* named = std::getenv("NUTSHELL_RUNTIME_DIR"); named != nullptr && *named == '/') {
    return named;
  }
  if (::geteuid() == 0) return "/run/nutshell";
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  // NOLINTEND(concurrency-mt-unsafe)
  struct stat status {};
  if (session != nullptr && *session == '/' && ::stat(session, &status) == 0 &&
      status.st_uid == ::geteuid()) {
    return std::filesystem::path(session) / "nutshell";
  }
  return fmt::format("/tmp/nutshell-{}", ::geteuid());
}

Result<UniqueFd> open_lock(const RuntimeDirectory& directory) {
  return open_file(directory.lock(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
}

}  // namespace

Result<RuntimeDirectory> RuntimeDirectory::open() {
  RuntimeDirectory directory{choose_path()};
  const char* path = directory.path.c_str();
  if (::mkdir(path, 0700) != 0 && errno != EEXIST) return syscall_failure("mkdir", path);
  struct stat status {};
  if (::lstat(path, &status) != 0) return syscall_failure("stat", path);
  const bool is_ours =
      S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 077U) == 0;
  if (!is_ours) {
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("{} is not a directory of yours with mode 0700: remove it, or name "
                               "another with NUTSHELL_RUNTIME_DIR",
                               path));
  }
  return directory;
}

Result<LauncherLock> LauncherLock::take(const RuntimeDirectory& directory) {
  UniqueFd file = TRY(open_lock(directory));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return syscall_failure("lock", directory.lock().native());
  }
  return LauncherLock(std::move(file));
}

Result<LauncherLock> LauncherLock::try_take(const RuntimeDirectory& directory) {
  UniqueFd file = TRY(open_lock(directory));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return syscall_failure("lock", directory.lock().native());
  }
  return LauncherLock(std::move(file));
}

}  // namespace nutshell::native
