#include "server/mcp/hang_up_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vector>

namespace nutshell::mcp {
namespace {

constexpr int kGraceTick = 250;  // milliseconds

}  // namespace

HangUpWatch::HangUpWatch() : woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HangUpWatch::~HangUpWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void HangUpWatch::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(woken_.get(), &one, sizeof(one));  // fails only when it is readable anyway
}

void HangUpWatch::add(int descriptor, const CallPointer& call, std::chrono::milliseconds grace) {
  const std::lock_guard lock(mutex_);
  watched_.push_back({descriptor, call, grace});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake();
}

void HangUpWatch::remove(const CallPointer& call) {
  const std::lock_guard lock(mutex_);
  watched_.remove_if([&call](const Watched& one) { return one.call == call; });
  wake();
}

HangUpWatch::Verdict HangUpWatch::judge(Watched& one) {
  if (one.call->is_task()) return Verdict::Leave;
  if (!one.gone) {
    pollfd now{one.descriptor, POLLIN, 0};
    const bool is_gone = ::poll(&now, 1, 0) > 0 && now.revents != 0;
    if (!is_gone) return Verdict::Watch;
    one.gone = Clock::now();
  }
  if (one.grace.count() == 0) return Verdict::Cancel;
  if (one.call->session().used() > *one.gone) return Verdict::Leave;
  return Clock::now() - *one.gone < one.grace ? Verdict::Watch : Verdict::Cancel;
}

// A descriptor that was closed and opened again meanwhile causes a useless wake-up, so the calls to
// cancel are chosen under the lock, from those that are still watched.
void HangUpWatch::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    std::vector<pollfd> polled{{woken_.get(), POLLIN, 0}};
    int timeout = -1;
    for (const Watched& one : watched_) {
      if (one.gone) timeout = kGraceTick;
      if (!one.gone) polled.push_back({one.descriptor, POLLIN, 0});
    }
    lock.unlock();
    ::poll(polled.data(), polled.size(), timeout);
    lock.lock();
    std::uint64_t count = 0;
    (void)!::read(woken_.get(), &count, sizeof(count));  // empty: another descriptor woke us
    for (auto one = watched_.begin(); one != watched_.end();) {
      const Verdict verdict = judge(*one);
      if (verdict == Verdict::Cancel) one->call->cancel();
      one = verdict == Verdict::Watch ? std::next(one) : watched_.erase(one);
    }
  }
}

}  // namespace nutshell::mcp
