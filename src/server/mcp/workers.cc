#include "server/mcp/workers.h"

namespace nutshell::mcp {

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

bool Workers::take(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= most_waiting_) return false;
  waiting_.push_back(std::move(work));
  if (idle_ < waiting_.size() && threads_.size() < most_threads_)
    threads_.emplace_back([this] { run(); });
  changed_.notify_one();
  return true;
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace nutshell::mcp
