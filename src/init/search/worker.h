// A process that init starts for an answer that takes a while: init has one thread and must stay
// responsive. It is a fork, so nothing is loaded from the sandbox; it has only the descriptors of
// init that it needs, and may have threads.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::init::search {

class Worker {
 public:
  struct Plan {
    std::function<std::string()> answer;  // returns what is sent back
    int kept = -1;                        // a descriptor it needs
    int memory_priority = -1;             // init's oom_score_adj: the worker is killed before init
  };
  // Fails with ResourceExhausted at the sandbox's process limit.
  static Result<Worker> start(const Plan& plan);

  Worker(Worker&& other) noexcept
      : pipe_(std::move(other.pipe_)),
        pid_(std::exchange(other.pid_, -1)),
        answer_(std::move(other.answer_)) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker();  // kills it; init reaps it like any other child

  // Readable when read() has something to do.
  [[nodiscard]] int descriptor() const { return pipe_.get(); }
  enum class State { Working, Answered, Lost };
  State read();
  [[nodiscard]] const std::string& answer() const { return answer_; }

 private:
  Worker(UniqueFd pipe, pid_t pid) : pipe_(std::move(pipe)), pid_(pid) {}

  UniqueFd pipe_;   // while its other end is open, the worker lives and has the number
  pid_t pid_ = -1;  // -1 once moved from
  std::string answer_;
};

}  // namespace nutshell::init::search
