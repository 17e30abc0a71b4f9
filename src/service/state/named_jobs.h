// Runs jobs on threads of their own: one job at a time for each name, and a bounded number in all.
// Thread-safe. Its destructor waits for all jobs.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace nutshell::service {

class NamedJobs {
 public:
  explicit NamedJobs(std::size_t most) : most_(most) {}

  enum class Start { Begun, Running, Refused };
  Start start(const std::string& name, std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    std::erase_if(jobs_, [](const auto& item) { return item.second.is_done.load(); });
    if (jobs_.contains(name)) return Start::Running;
    if (jobs_.size() >= most_) return Start::Refused;
    Job& begun = jobs_[name];
    begun.thread = std::jthread([&begun, job = std::move(job)] {
      job();
      begun.is_done = true;
    });
    return Start::Begun;
  }

 private:
  struct Job {
    std::atomic<bool> is_done = false;
    std::jthread thread;  // last: joined before the rest is destroyed
  };
  const std::size_t most_;
  std::mutex mutex_;
  std::map<std::string, Job> jobs_;
};

}  // namespace nutshell::service
