// The threads that serve flows whose requests are read. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "base/unique_fd.h"

namespace nutshell::egress {

class InspectedFlows {
 public:
  static constexpr std::size_t kMost = 256;

  InspectedFlows() = default;
  InspectedFlows(const InspectedFlows&) = delete;
  InspectedFlows& operator=(const InspectedFlows&) = delete;
  // Ends the flows and waits for their threads.
  ~InspectedFlows();

  // Runs `serve` in a thread of its own; false if there are too many already. The sockets of a flow
  // are told by hold().
  bool begin(std::uint32_t flow, std::function<void()> serve);
  // Keeps a copy of the socket until the flow is over, so that cut() can end it.
  void hold(std::uint32_t flow, int socket);
  // The flow's sockets hang up, so that its thread ends soon.
  void cut(std::uint32_t flow);
  // Joins the threads whose work is done.
  void tidy();

 private:
  struct Served {
    std::thread thread;
    std::vector<UniqueFd> sockets;
    bool is_cut = false;
    bool is_done = false;
  };
  struct State {
    std::map<std::uint64_t, std::unique_ptr<Served>> all;  // by a number of our own
    std::map<std::uint32_t, std::uint64_t> flows;
    std::uint64_t last = 0;
    bool is_ending = false;
  };
  static void hang_up(Served& served);

  Guarded<State> state_;
};

}  // namespace nutshell::egress
