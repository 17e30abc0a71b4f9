#include "http/worker_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <thread>

namespace nutshell::http {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(10);
constexpr std::size_t kMostWaiting = 256;

// Signals are for the thread that waits for them; a thread inherits its maker's mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// A thread inherits its maker's priority too, and so would all that a handler starts: the poller's
// is for the poller alone.
void take_usual_priority() {
  const int usual = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), usual);
}

}  // namespace

void WorkerPool::finish() {
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  waiting_.clear();
  has_work_.notify_all();
  has_changed_.wait(lock, [&] { return threads_ == 0; });
}

bool WorkerPool::spawn() {
  const SignalsBlocked blocked;
  try {
    // Detached, because threads come and go; the destructor waits for their number to be zero.
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error&) {
    return false;  // those that run will come to it
  }
  ++threads_;
  return true;
}

std::unique_ptr<Connection> WorkerPool::submit(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  const bool needs_thread = waiting_.size() >= idle_;
  const bool can_be_served = !needs_thread || (has_room() && spawn()) || threads_ > 0;
  if (!can_be_served || waiting_.size() >= most_ + kMostWaiting) return connection;
  waiting_.push_back(std::move(connection));
  has_work_.notify_one();
  return nullptr;
}

void WorkerPool::begin() {
  const std::lock_guard lock(mutex_);
  ++waits_;
  if (waiting_.size() > idle_ && has_room()) (void)spawn();  // else those that run come to it
}

void WorkerPool::end() {
  const std::lock_guard lock(mutex_);
  --waits_;
}

bool WorkerPool::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

bool WorkerPool::take(std::unique_ptr<Connection>& connection) {
  std::unique_lock lock(mutex_);
  ++idle_;
  has_changed_.notify_all();
  has_work_.wait_for(lock, kIdleTime, [&] { return !waiting_.empty() || is_ending_; });
  --idle_;
  if (waiting_.empty()) {
    --threads_;
    has_changed_.notify_all();
    return false;
  }
  connection = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

void WorkerPool::run() {
  take_usual_priority();
  std::unique_ptr<Connection> connection;
  while (take(connection))
    work_(std::move(connection));
}

bool WorkerPool::wait_until_idle(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_idle = [&] { return idle_ == threads_ && waiting_.empty(); };
  const auto moment =
      Clock::now() + std::chrono::milliseconds(std::max(0, deadline.poll_timeout()));
  return has_changed_.wait_until(lock, moment, is_idle);
}

WorkerPool::Figures WorkerPool::figures() const {
  const std::lock_guard lock(mutex_);
  return {threads_, threads_ - idle_};
}

}  // namespace nutshell::http
