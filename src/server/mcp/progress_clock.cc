#include "server/mcp/progress_clock.h"

namespace nutshell::mcp {

using namespace std::chrono_literals;

ProgressClock::~ProgressClock() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProgressClock::watch(std::weak_ptr<RunningCall> call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void ProgressClock::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    changed_.wait(lock, [this] { return is_ending_ || !calls_.empty(); });
    changed_.wait_for(lock, 1s, [this] { return is_ending_; });
    std::erase_if(calls_, [](const auto& call) { return call.expired(); });
    const auto calls = calls_;
    lock.unlock();  // a client that does not read must not stop those that begin
    for (const auto& watched : calls)
      if (const auto call = watched.lock()) call->tick();
    lock.lock();
  }
}

}  // namespace nutshell::mcp
