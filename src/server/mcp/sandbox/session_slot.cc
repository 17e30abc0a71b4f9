#include "server/mcp/sandbox/session_slot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/deadline.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

constexpr int kMostSlots = 64;
constexpr char kEnding = 'e';  // in the lock file of a server that ends
// A server that lost its client ends within two seconds.
constexpr auto kEndingTime = 5s;
// A client that is opened again right after it was closed can be faster than its first server,
// which has not noticed its end yet.
constexpr auto kNoticingTime = 300ms;
constexpr auto kBetweenLooks = 10ms;

struct Attempt {
  std::string name;
  UniqueFd lock;
  bool is_taken = false;
  bool is_ending = false;  // by another server, which ends
};

Result<Attempt> try_slot(const std::filesystem::path& place, const std::string& label, int number) {
  Attempt attempt;
  attempt.name = number == 1 ? label : fmt::format("{}-{}", label, number);
  attempt.lock =
      TRY(open_file(place / (attempt.name + ".lock"), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(attempt.lock.get(), LOCK_EX | LOCK_NB) == 0) {
    attempt.is_taken = true;
    (void)!::ftruncate(attempt.lock.get(), 0);  // on failure the next server waits in vain
    return attempt;
  }
  if (errno != EWOULDBLOCK) return syscall_failure("flock", attempt.name);
  char mark = 0;
  attempt.is_ending = ::pread(attempt.lock.get(), &mark, 1, 0) == 1 && mark == kEnding;
  return attempt;
}

}  // namespace

Result<SessionSlot> SessionSlot::take(const std::string& label) {
  const auto place = TRY(open_user_directory()) / "mcp";
  TRY(make_directory(place));
  const Deadline noticing = Deadline::in(kNoticingTime);
  const Deadline ending = Deadline::in(kEndingTime);
  for (;;) {
    bool waits = false;
    for (int number = 1; number <= kMostSlots && !waits; ++number) {
      Attempt attempt = TRY(try_slot(place, label, number));
      if (attempt.is_taken) return SessionSlot(std::move(attempt.name), std::move(attempt.lock));
      waits = attempt.is_ending ? !ending.has_passed() : !noticing.has_passed();
    }
    if (!waits) break;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("{} clients are at work in this project already", kMostSlots));
}

void SessionSlot::mark_ending() const {
  (void)!::pwrite(lock_.get(), &kEnding, 1, 0);  // on failure the next server does not wait
}

}  // namespace nutshell::mcp
