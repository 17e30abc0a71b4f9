#include "http/worker_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "http/signals_blocked.h"

namespace nutshell::http {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(10);
constexpr std::size_t kMostWaiting = 256;  // for one holder, beside running work
// Waits for clients, per holder, that do not count against its bound.
constexpr std::size_t kMostExcused = 128;

// A thread inherits the priority of the poller that starts it; this restores the process's own.
void take_usual_priority() {
  const int usual = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), usual);
}

std::size_t part_of(std::size_t all, std::size_t divisor) {
  return std::max<std::size_t>(1, all / divisor);
}

// Reserves threads for the owner that no tenant can take, and some for each tenant.
FairBounds bounds_for(CallerKind caller_kind, const WorkerBounds& bounds) {
  switch (caller_kind) {
    case CallerKind::Owner:
      return {bounds.all, bounds.all, part_of(bounds.all, 8)};
    case CallerKind::Tenant:
      return {bounds.all, std::min(bounds.of_one, bounds.all), part_of(bounds.all, 64)};
    case CallerKind::Stranger:
      return {bounds.all, part_of(bounds.all, 64), part_of(bounds.all, 64)};
  }
  return {};
}

}  // namespace

void WorkerPool::finish() {
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  std::deque<Ready> dropped = std::exchange(ready_, {});
  for (auto& [holder, share] : shares_) {
    for (Work& work : share.waiting)
      dropped.push_back({holder, std::move(work)});
    share.waiting.clear();
  }
  waiting_ = 0;
  has_work_.notify_all();
  has_changed_.wait(lock, [&] { return threads_ == 0; });
}

bool WorkerPool::spawn() {
  const SignalsBlocked blocked;
  try {
    // Detached, because threads come and go; finish() waits until none is left.
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error&) {
    return false;  // running threads will take the work
  }
  ++threads_;
  return true;
}

WorkerPool::Share& WorkerPool::share_of(const Admission& of) {
  const auto [found, is_new] = shares_.try_emplace(of.holder);
  if (is_new) {
    found->second.bounds = bounds_for(of.caller_kind, bounds_);
    found->second.most_waiting = kMostWaiting;
    if (of.caller_kind == CallerKind::Owner) found->second.most_waiting += bounds_.all;
  }
  return found->second;
}

bool WorkerPool::may_run(const Share& share) const {
  const std::size_t own = share.running - std::min(share.waits, kMostExcused);
  return share.bounds.allow(own, running_ - excused_, 1);
}

void WorkerPool::forget_if_unused(Shares::iterator share) {
  if (share->second.running == 0 && share->second.waiting.empty()) shares_.erase(share);
}

// Moves waiting work to ready_, first from the holder with the least running work. Returns how
// much.
std::size_t WorkerPool::give_places() {
  std::size_t given = 0;
  for (; waiting_ > 0; ++given) {
    Shares::value_type* next = nullptr;
    for (auto& one : shares_) {
      if (one.second.waiting.empty() || !may_run(one.second)) continue;
      if (next == nullptr || one.second.running < next->second.running) next = &one;
    }
    if (next == nullptr) break;
    Share& share = next->second;
    ready_.push_back({next->first, std::move(share.waiting.front())});
    share.waiting.pop_front();
    --waiting_;
    ++share.running;
    ++running_;
  }
  return given;
}

// Wakes or starts a thread for ready work. Returns false if the pool has no thread at all.
bool WorkerPool::wake() {
  if (ready_.empty()) return true;
  if (ready_.size() > idle_) (void)spawn();  // otherwise an idle thread takes it
  has_work_.notify_one();
  return threads_ > 0;
}

bool WorkerPool::submit(const Admission& of, Work work) {
  const std::lock_guard lock(mutex_);
  if (is_ending_) return false;
  Share& share = share_of(of);
  if (share.waiting.size() >= share.most_waiting) return false;
  share.waiting.push_back(std::move(work));
  ++waiting_;
  give_places();
  if (wake()) return true;
  // The pool has no thread, so no other work is ready or waits.
  ready_.clear();
  shares_.clear();
  running_ = waiting_ = 0;
  return false;
}

void WorkerPool::begin(const std::string& holder) {
  const std::lock_guard lock(mutex_);
  Share& share = shares_.at(holder);
  if (++share.waits <= kMostExcused) ++excused_;
  give_places();
  (void)wake();
}

void WorkerPool::end(const std::string& holder) {
  const std::lock_guard lock(mutex_);
  Share& share = shares_.at(holder);
  if (share.waits-- <= kMostExcused) --excused_;
}

bool WorkerPool::is_excused(const std::string& holder) const {
  const std::lock_guard lock(mutex_);
  return shares_.at(holder).waits <= kMostExcused;
}

bool WorkerPool::may_go_on(const std::string& holder) const {
  const std::lock_guard lock(mutex_);
  const Share& share = shares_.at(holder);
  const std::size_t own = share.running - std::min(share.waits, kMostExcused);
  return share.bounds.allow(own, running_ - excused_, 0);
}

bool WorkerPool::has_waiting(const std::string& holder) const {
  const std::lock_guard lock(mutex_);
  if (ready_.size() > idle_) return true;
  const auto found = shares_.find(holder);
  return found != shares_.end() && !found->second.waiting.empty();
}

void WorkerPool::end_one(const std::string& holder) {
  const auto found = shares_.find(holder);
  --found->second.running;
  --running_;
  if (give_places() > 1) (void)wake();  // the caller takes one of them
  forget_if_unused(found);
}

bool WorkerPool::take(Ready& current) {
  std::unique_lock lock(mutex_);
  if (current.work) {
    current.work = nullptr;
    end_one(current.holder);
  }
  ++idle_;
  if (ready_.empty()) {
    has_changed_.notify_all();
    has_work_.wait_for(lock, kIdleTime, [&] { return !ready_.empty() || is_ending_; });
  }
  --idle_;
  if (ready_.empty()) {
    --threads_;
    has_changed_.notify_all();
    return false;
  }
  current = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

void WorkerPool::run() {
  take_usual_priority();
  Ready current;
  while (take(current))
    current.work();
}

bool WorkerPool::wait_until_idle(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_idle = [&] { return idle_ == threads_ && ready_.empty() && waiting_ == 0; };
  const auto moment =
      Clock::now() + std::chrono::milliseconds(std::max(0, deadline.poll_timeout()));
  return has_changed_.wait_until(lock, moment, is_idle);
}

WorkerPool::Figures WorkerPool::figures() const {
  const std::lock_guard lock(mutex_);
  return {threads_, threads_ - idle_};
}

}  // namespace nutshell::http
