#include "backends/native/runtime_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell::native {
namespace {

Result<UniqueFd> open_lock(const RuntimeDirectory& directory) {
  return open_file(directory.lock(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
}

}  // namespace

Result<RuntimeDirectory> RuntimeDirectory::open() {
  return RuntimeDirectory{TRY(open_user_directory())};
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
