// Keeps the last things that a sandbox tried on the network, and counts all. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/guarded.h"
#include "core/network_report.h"

namespace nutshell::egress {

class EventLog {
 public:
  static constexpr std::size_t kMostEvents = 1024;

  // Gives the event its number and time, and bounds its texts. The rule of a refusal is dropped if
  // it would allow more than what was refused. A refusal or failure that only repeats the one
  // before counts up there, under a new number.
  void add(NetworkEvent event);
  // Those with a greater number that are still kept, oldest first.
  [[nodiscard]] std::vector<NetworkEvent> after(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t opened() const;
  [[nodiscard]] std::uint64_t refused() const;

 private:
  struct State {
    std::deque<NetworkEvent> events;
    std::uint64_t last_number = 0;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
  };
  Guarded<State> state_;
};

}  // namespace nutshell::egress
