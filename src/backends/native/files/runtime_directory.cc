#include "backends/native/files/runtime_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/deadline.h"
#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 20s;
constexpr std::chrono::microseconds kShortestPause = 100us;
constexpr std::chrono::microseconds kLongestPause = 5ms;

Result<UniqueFd> open_lock(const std::filesystem::path& path) {
  return open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
}

struct flock whole_file() {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

Result<UniqueFd> lock_life(const RuntimeDirectory& directory, int command) {
  UniqueFd file = TRY(open_lock(directory.life()));
  struct flock range = whole_file();
  if (::fcntl(file.get(), command, &range) == 0) return file;
  if (errno == EAGAIN || errno == EACCES)
    return failure(ErrorCode::Unavailable, "another launcher is alive");
  return syscall_failure("lock", directory.life().native());
}

}  // namespace

Result<RuntimeDirectory> RuntimeDirectory::open() {
  return RuntimeDirectory{TRY(open_user_directory())};
}

Result<LauncherLock> LauncherLock::take(const RuntimeDirectory& directory) {
  UniqueFd file = TRY(open_lock(directory.lock()));
  const Deadline deadline = Deadline::in(kPatience);
  auto pause = kShortestPause;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR && errno != EWOULDBLOCK)
      return syscall_failure("lock", directory.lock().native());
    if (deadline.has_passed())
      return failure(ErrorCode::Unavailable,
                     "another process has tried to connect to the launcher for 20 s: the launcher "
                     "does not answer. Try again, or kill the process 'nutshell-launcher', which "
                     "ends its sandboxes");
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return LauncherLock(std::move(file));
}

Result<LauncherLock> LauncherLock::try_take(const RuntimeDirectory& directory) {
  UniqueFd file = TRY(open_lock(directory.lock()));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return syscall_failure("lock", directory.lock().native());
  }
  return LauncherLock(std::move(file));
}

Result<InstanceLock> InstanceLock::take_for_life(const RuntimeDirectory& directory) {
  return InstanceLock(TRY(lock_life(directory, F_SETLK)));
}

Result<InstanceLock> InstanceLock::borrow(const RuntimeDirectory& directory) {
  return InstanceLock(TRY(lock_life(directory, F_OFD_SETLK)));
}

Result<bool> InstanceLock::is_held(const RuntimeDirectory& directory) {
  auto file = open_file(directory.life(), O_RDWR | O_NOFOLLOW);
  if (!file && file.error().code == ErrorCode::NotFound) return false;
  if (!file) return Failure(std::move(file).error());
  struct flock range = whole_file();
  if (::fcntl(file->get(), F_OFD_GETLK, &range) != 0)
    return syscall_failure("look at", directory.life().native());
  return range.l_type != F_UNLCK;
}

}  // namespace nutshell::native
