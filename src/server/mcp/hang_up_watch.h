// Cancels calls whose client hangs up while they run. Thread-safe.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "server/mcp/running_call.h"

namespace nutshell::mcp {

class HangUpWatch {
 public:
  HangUpWatch();
  HangUpWatch(const HangUpWatch&) = delete;
  HangUpWatch& operator=(const HangUpWatch&) = delete;
  ~HangUpWatch();

  using CallPointer = std::shared_ptr<RunningCall>;  // the watch may look at it a moment longer
  // `descriptor` becomes readable when the client is gone; it must stay open until remove(). With a
  // grace, the call goes on if the client's session is used again within it.
  void add(int descriptor, const CallPointer& call, std::chrono::milliseconds grace);
  void remove(const CallPointer& call);

 private:
  struct Watched {
    int descriptor;
    CallPointer call;
    std::chrono::milliseconds grace;
    std::optional<Clock::time_point> gone = std::nullopt;
  };
  enum class Verdict : std::uint8_t { Watch, Leave, Cancel };
  static Verdict judge(Watched& one);
  void run();
  void wake() const;

  std::mutex mutex_;
  std::list<Watched> watched_;
  bool is_ending_ = false;
  UniqueFd woken_;
  std::thread thread_;  // starts with the first call
};

}  // namespace nutshell::mcp
