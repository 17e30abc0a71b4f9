// Threads that run what many holders ask for: as many as are needed at once, within a bound for all
// and one for each holder, so that nobody's work keeps another's from being run. Threads with
// nothing to do end soon. A thread that waits for a client does not count, up to a number for each
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
  std::size_t all = 512;     // at once
  std::size_t of_one = 128;  // tenant
};

class WorkerPool : public BodyWait {
 public:
  using Work = std::function<void()>;
  explicit WorkerPool(const WorkerBounds& bounds) : bounds_(bounds) {}
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() override { finish(); }
  // Takes no more, drops what waits, and returns when all threads have ended.
  void finish();

  // False: the holder has as much at work and waiting as it may, or no thread can be had.
  bool submit(const Admission& of, Work work);
  // Whether this holder's next work, or somebody's that may run, waits for a thread.
  [[nodiscard]] bool has_waiting(const std::string& holder) const;
  // By a thread of the pool, around a wait for a client: for its body, or its next request.
  void begin(const std::string& holder) override;
  void end(const std::string& holder) override;
  // Whether all threads of the holder's that wait for clients do not count.
  [[nodiscard]] bool is_excused(const std::string& holder) const;
  // Whether a thread of the holder's that has waited may take up more work of its.
  [[nodiscard]] bool may_go_on(const std::string& holder) const;
  // Whether all threads are idle and nothing waits; false: the deadline passed first.
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
    std::size_t running = 0;   // with a place: at work, or in ready_
    std::size_t waits = 0;     // of those, for a client
    std::deque<Work> waiting;  // without a place
  };
  using Shares = std::map<std::string, Share>;
  struct Ready {
    std::string holder;
    Work work;
  };
  void run();
  // Ends what `current` was and takes the next. False: nothing came for long, or the pool ends.
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
  std::size_t excused_ = 0;  // of those that run, which wait for a client and do not count
  std::size_t waiting_ = 0;
  bool is_ending_ = false;
};

}  // namespace nutshell::http
