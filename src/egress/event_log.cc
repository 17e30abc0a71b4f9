#include "egress/event_log.h"

#include <chrono>

namespace nutshell::egress {
namespace {

bool is_repeated(const NetworkEvent& before, const NetworkEvent& now) {
  const bool can_repeat =
      now.kind == NetworkEventKind::Refused || now.kind == NetworkEventKind::Failed;
  return can_repeat && before.kind == now.kind && before.host == now.host &&
         before.port == now.port && before.method == now.method && before.path == now.path &&
         before.reason == now.reason;
}

}  // namespace

void EventLog::add(NetworkEvent event) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  event.time_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  state_.with([&event](State& state) {
    event.number = ++state.last_number;
    if (event.kind == NetworkEventKind::Opened) ++state.opened;
    if (event.kind == NetworkEventKind::Refused) ++state.refused;
    if (!state.events.empty() && is_repeated(state.events.back(), event)) {
      event.count += state.events.back().count;
      state.events.pop_back();
    }
    state.events.push_back(std::move(event));
    if (state.events.size() > kMostEvents) state.events.pop_front();
  });
}

std::vector<NetworkEvent> EventLog::after(std::uint64_t number) const {
  return state_.with([number](const State& state) {
    std::vector<NetworkEvent> found;
    for (const NetworkEvent& event : state.events) {
      if (event.number > number) found.push_back(event);
    }
    return found;
  });
}

std::uint64_t EventLog::opened() const {
  return state_.with([](const State& state) { return state.opened; });
}

std::uint64_t EventLog::refused() const {
  return state_.with([](const State& state) { return state.refused; });
}

}  // namespace nutshell::egress
