#include "service/state/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <thread>

#include "base/deadline.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/process_start.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kLeftoverTime = 10s;
constexpr auto kPause = 2ms;

// The start time tells a process from a later one with the same pid.
std::string name_of(std::uint32_t process, std::uint64_t start) {
  return fmt::format("{} {}\n", process, start);
}

// The pid of the service that holds the lock; zero if no such process is visible.
std::uint32_t living_owner(int lock) {
  std::string text(64, '\0');
  const ssize_t count = ::pread(lock, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  std::uint32_t process = 0;
  std::from_chars(text.data(), text.data() + text.size(), process);
  const auto start = process == 0 ? std::nullopt : start_of_process(process);
  return start && name_of(process, *start) == text ? process : 0;
}

Failure in_use(const std::filesystem::path& path, std::uint32_t owner) {
  const std::string who = owner != 0 ? fmt::format(" (process {})", owner) : "";
  return failure(ErrorCode::AlreadyExists,
                 fmt::format("another daemon uses {}: stop it{}, or name another state directory",
                             path.native(), who));
}

// A child that a killed service was starting holds the lock until its exec. Waits for such a child,
// but not for a service that lives.
Result<> take(int lock, const std::filesystem::path& path) {
  const Deadline patience = Deadline::in(kLeftoverTime);
  while (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return syscall_failure("lock", path.native());
    const std::uint32_t owner = living_owner(lock);
    if (owner != 0 || patience.has_passed()) return in_use(path, owner);
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

// If this cannot be written, as on a full disk, a second service waits before it is refused.
void sign(int lock) {
  const auto process = static_cast<std::uint32_t>(::getpid());
  const std::string name = name_of(process, start_of_process(process).value_or(0));
  if (::ftruncate(lock, 0) != 0) return;
  (void)!::pwrite(lock, name.data(), name.size(), 0);
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const std::filesystem::path& path) {
  // Closes a directory of this user that others may read but not change.
  struct stat status {};
  const bool is_readable = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                           status.st_uid == ::geteuid() && (status.st_mode & 077U) != 0 &&
                           (status.st_mode & 022U) == 0;
  if (is_readable && ::chmod(path.c_str(), 0700) != 0)
    return syscall_failure("chmod", path.native());
  TRY(make_private_directory(
      path, fmt::format("'chmod 700 {}' if it is yours, or name another with NUTSHELL_STATE_DIR",
                        path.native())));
  UniqueFd lock = TRY(open_file(path / "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  TRY(take(lock.get(), path));
  sign(lock.get());
  return StateDirectory(path, std::move(lock));
}

}  // namespace nutshell::service
