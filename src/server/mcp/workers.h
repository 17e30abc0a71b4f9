// A bounded number of threads for work that may wait. Threads start when there is work for them.
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
  ~Workers();  // after what was taken is done

  // False: too much is waiting already.
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
