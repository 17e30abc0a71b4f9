// A mutex for each name. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace nutshell::service {

class NamedLocks {
 public:
  class Lock {
   public:
    Lock(NamedLocks& home, std::string name) : home_(&home), name_(std::move(name)) {}
    Lock(Lock&& other) noexcept
        : home_(std::exchange(other.home_, nullptr)), name_(std::move(other.name_)) {}
    Lock& operator=(Lock&&) = delete;
    ~Lock() {
      if (home_ != nullptr) home_->release(name_);
    }

   private:
    NamedLocks* home_;
    std::string name_;
  };

  Lock take(const std::string& name) {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return !taken_.contains(name); });
    taken_.insert(name);
    return {*this, name};
  }

  // nullopt if another caller holds the lock.
  std::optional<Lock> try_take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (!taken_.insert(name).second) return std::nullopt;
    return std::optional<Lock>(std::in_place, *this, name);
  }

 private:
  void release(const std::string& name) {
    const std::lock_guard lock(mutex_);
    taken_.erase(name);
    released_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable released_;
  std::set<std::string> taken_;
};

}  // namespace nutshell::service
