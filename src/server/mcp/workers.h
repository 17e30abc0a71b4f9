// A bounded pool of threads for work that may block. Threads start when they are needed.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nutshell::mcp {

class Workers {
 public:
  Workers(std::size_t most_threads, std::size_t most_waiting)
      : most_threads_(most_threads), most_waiting_(most_waiting) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();  // waits for the work that was accepted

  // False if too much work is waiting.
  bool take(std::function<void()> work);

 private:
  void run();

  std::size_t most_threads_;
  std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nutshell::mcp
