// Counts the bytes of a sandbox against what its policy allows, in all and in a second.
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "base/guarded.h"

namespace nutshell::egress {

class Allowance {
 public:
  Allowance(std::uint64_t most_bytes, std::uint64_t bytes_per_second)
      : state_(State{most_bytes, bytes_per_second}) {}

  // Keeps the count of used bytes.
  void set(std::uint64_t most_bytes, std::uint64_t bytes_per_second);
  void take(std::uint64_t bytes);
  [[nodiscard]] bool is_spent() const;
  // How long to wait until bytes may be carried again; zero: they may be now.
  [[nodiscard]] Clock::duration wait() const;
  [[nodiscard]] std::uint64_t used() const;

 private:
  struct State {
    std::uint64_t most_bytes;
    std::uint64_t bytes_per_second;
    std::uint64_t used = 0;
    double debt = 0;  // bytes that were carried before their time
    Clock::time_point at = Clock::now();
  };
  static void pay(State& state);
  Guarded<State> state_;
};

}  // namespace nutshell::egress
