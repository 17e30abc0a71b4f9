// A pool of threads for the work of many holders. It starts threads as they are needed, within a
// bound for all and one for each holder, so that no holder keeps another one's work from running.
// Idle threads end soon. Threads that wait for a client do not count, up to a bound for each
// holder. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/deadline.h"
#include "http/admission.h"
#include "http/connection.h"

namespace nutshell::http {

struct WorkerBounds {
  std::size_t all = 512;     // threads
  std::size_t of_one = 128;  // threads for one tenant
};

class WorkerPool : public BodyWait {
 public:
  using Work = std::function<void()>;
  explicit WorkerPool(const WorkerBounds& bounds) : bounds_(bounds) {}
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() override { finish(); }
  // Accepts no more work, drops the work that waits, and returns when all threads have ended.
  void finish();

  // False if the holder has reached its bound of running and waiting work, or no thread can start.
  bool submit(const Admission& of, Work work);
  // Whether work that may run waits for a thread.
  [[nodiscard]] bool has_waiting(const std::string& holder) const;
  // Called by a thread of the pool around a wait for a client: for a body or the next request.
  void begin(const std::string& holder) override;
  void end(const std::string& holder) override;
  // Whether none of the holder's threads that wait for clients counts against its bound.
  [[nodiscard]] bool is_excused(const std::string& holder) const;
  // Whether a thread of this holder that has waited for a client may go on with more of its work.
  [[nodiscard]] bool may_go_on(const std::string& holder) const;
  // Waits until all threads are idle and no work waits; false if the deadline passes first.
  bool wait_until_idle(const Deadline& deadline);

  struct Figures {
    std::size_t threads = 0;
    std::size_t busy = 0;
  };
  [[nodiscard]] Figures figures() const;

 private:
  struct Share {
    FairBounds bounds;
    std::size_t most_waiting = 0;
    std::size_t running = 0;   // work that runs or is in ready_
    std::size_t waits = 0;     // how many of them wait for a client
    std::deque<Work> waiting;  // beyond the bounds
  };
  using Shares = std::map<std::string, Share>;
  struct Ready {
    std::string holder;
    Work work;
  };
  void run();
  // Ends `current` and takes the next work. False if the thread has been idle too long, or the pool
  // ends.
  bool take(Ready& current);
  bool spawn();

  // The caller holds mutex_ in all of these.
  Share& share_of(const Admission& of);
  [[nodiscard]] bool may_run(const Share& share) const;
  void forget_if_unused(Shares::iterator share);
  void end_one(const std::string& holder);
  std::size_t give_places();
  bool wake();

  const WorkerBounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_changed_;
  Shares shares_;
  std::deque<Ready> ready_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  std::size_t running_ = 0;
  std::size_t excused_ = 0;  // running threads that wait for a client and do not count
  std::size_t waiting_ = 0;
  bool is_ending_ = false;
};

}  // namespace nutshell::http
