// Keeps idle streams to the inits of sandboxes, so that the next call needs no new one. Bounded for
// each sandbox and in total. A stream is only given to calls for the sandbox it leads to.
// Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "wire/init_client.h"

namespace nutshell {

class StreamPool {
 public:
  static constexpr std::size_t kMostOfOneSandbox = 4;
  // All but one stream of a sandbox are closed after they were idle for this long.
  static constexpr std::chrono::seconds kSurplusTime{60};

  explicit StreamPool(std::size_t most_idle = default_most()) : most_idle_(most_idle) {}

  // Takes the sandbox's most recently used stream; discards broken ones.
  std::optional<wire::InitClient> take(const std::string& sandbox);
  // Adds a stream on which no conversation is open. A full pool closes the stream that was idle
  // longest.
  void keep(const std::string& sandbox, wire::InitClient client);
  void close(const std::string& sandbox);
  // Closes surplus streams, and all streams of sandboxes that are not `is_known`: a call may give
  // its stream back after its sandbox was closed here.
  void tidy(const std::function<bool(const std::string& sandbox)>& is_known);
  // Whether an idle stream shows that the sandbox has ended. False if no stream is idle.
  bool has_ended(const std::string& sandbox);
  std::size_t count();

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    wire::InitClient client;
    Clock::time_point since;
  };
  struct State {
    std::map<std::string, std::vector<Idle>> idle;  // for each sandbox, the most recently used last
    std::size_t count = 0;
    Clock::time_point tidied = Clock::now();
  };
  // A quarter of the descriptors that this process may have.
  static std::size_t default_most();
  // Return the streams that the caller closes without holding the lock.
  static std::vector<Idle> extract_surplus(State& state);
  static std::vector<Idle> extract_oldest(State& state);

  std::size_t most_idle_;
  Guarded<State> state_;
};

}  // namespace nutshell
