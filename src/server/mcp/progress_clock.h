// Tells clients that asked for it, once a second, that their call still runs. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/mcp/running_call.h"

namespace nutshell::mcp {

class ProgressClock {
 public:
  ProgressClock() = default;
  ProgressClock(const ProgressClock&) = delete;
  ProgressClock& operator=(const ProgressClock&) = delete;
  ~ProgressClock();

  // Reports until nothing else holds the call. The thread starts with the first call.
  void watch(std::weak_ptr<RunningCall> call);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::weak_ptr<RunningCall>> calls_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace nutshell::mcp
