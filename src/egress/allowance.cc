#include "egress/allowance.h"

#include <algorithm>

namespace nutshell::egress {
namespace {

// A pause of traffic earns this much, so that bursts are not slowed down.
constexpr double kSavedSeconds = 0.1;

}  // namespace

// The debt sinks as time passes, at most to what a pause earns.
void Allowance::pay(State& state) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - state.at).count();
  const auto rate = static_cast<double>(state.bytes_per_second);
  state.at = now;
  state.debt = std::max(state.debt - seconds * rate, -kSavedSeconds * rate);
}

void Allowance::set(std::uint64_t most_bytes, std::uint64_t bytes_per_second) {
  state_.with([&](State& state) {
    pay(state);
    state.most_bytes = most_bytes;
    state.bytes_per_second = bytes_per_second;
  });
}

void Allowance::take(std::uint64_t bytes) {
  state_.with([bytes](State& state) {
    pay(state);
    state.used += bytes;
    state.debt += static_cast<double>(bytes);
  });
}

bool Allowance::is_spent() const {
  return state_.with([](const State& state) { return state.used >= state.most_bytes; });
}

Clock::duration Allowance::wait() const {
  return state_.with([](const State& state) {
    const double since = std::chrono::duration<double>(Clock::now() - state.at).count();
    const double seconds = state.debt / static_cast<double>(state.bytes_per_second) - since;
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::max(seconds, 0.0)));
  });
}

std::uint64_t Allowance::used() const {
  return state_.with([](const State& state) { return state.used; });
}

}  // namespace nutshell::egress
