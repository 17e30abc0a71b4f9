#include "server/mcp/sandbox/session_slot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell::mcp {
namespace {

constexpr int kMostSlots = 64;

}  // namespace

Result<SessionSlot> SessionSlot::take(const std::string& label) {
  const auto place = TRY(open_user_directory()) / "mcp";
  TRY(make_directory(place));
  for (int number = 1; number <= kMostSlots; ++number) {
    std::string name = number == 1 ? label : fmt::format("{}-{}", label, number);
    UniqueFd lock = TRY(open_file(place / (name + ".lock"), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0)
      return SessionSlot(std::move(name), std::move(lock));
    if (errno != EWOULDBLOCK) return syscall_failure("flock", name);
  }
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("{} clients are at work in this project already", kMostSlots));
}

}  // namespace nutshell::mcp
