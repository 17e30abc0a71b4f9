// Threads that serve connections: as many as are needed at once, never more than a bound, and none
// for long that has nothing to do. One that waits for a slow client does not count: whoever sends a
// byte a second takes no place from others, and the number of connections is bounded. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/deadline.h"
#include "http/connection.h"

namespace nutshell::http {

class WorkerPool : public BodyWait {
 public:
  using Work = std::function<void(std::unique_ptr<Connection>)>;
  WorkerPool(std::size_t most, Work work) : most_(most), work_(std::move(work)) {}
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() override { finish(); }
  // Takes no more, and waits for all of them; they may use this object until then.
  void finish();

  // Nothing; or the connection back, when all are busy and enough others wait already.
  std::unique_ptr<Connection> submit(std::unique_ptr<Connection> connection);
  [[nodiscard]] bool has_waiting() const;
  // By a thread of the pool, around a wait.
  void begin() override;
  void end() override;
  // Whether all threads are idle and nothing waits; false: the deadline passed first.
  bool wait_until_idle(const Deadline& deadline);

  struct Figures {
    std::size_t threads = 0;
    std::size_t busy = 0;
  };
  [[nodiscard]] Figures figures() const;

 private:
  void run();
  // False: nothing came for long, or the pool ends.
  bool take(std::unique_ptr<Connection>& connection);
  bool spawn();
  [[nodiscard]] bool has_room() const { return threads_ - waits_ < most_; }

  const std::size_t most_;
  const Work work_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_changed_;
  std::deque<std::unique_ptr<Connection>> waiting_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  std::size_t waits_ = 0;  // for a client's body
  bool is_ending_ = false;
};

}  // namespace nutshell::http
