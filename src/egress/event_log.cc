#include "egress/event_log.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace nutshell::egress {
namespace {

// Bounds texts that a sandbox sends: a path can be as long as its sender likes.
void shorten(std::string& text) {
  constexpr std::size_t kMostText = 1024;
  constexpr std::string_view kMark = "...";
  if (text.size() > kMostText) text.replace(kMostText - kMark.size(), std::string::npos, kMark);
}

// Whether a rule allows one host, or one address, and nothing else. A sandbox can look up "*.com",
// "pypi" or "0.0.0.0/0", and nobody must be told to allow that.
bool is_narrow(std::string_view rule) {
  constexpr std::size_t kMostRule = 512;
  const bool is_request = rule.find("://") != std::string_view::npos;
  const auto is_plain = [is_request](char letter) {
    if (letter == '*' || (letter == '/' && !is_request)) return false;
    return (letter > ' ' && letter <= '~') || (letter == ' ' && is_request);
  };
  return rule.size() <= kMostRule && rule.find_first_of(".:") != std::string_view::npos &&
         std::all_of(rule.begin(), rule.end(), is_plain);
}

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
  if (event.kind == NetworkEventKind::Refused && !is_narrow(event.rule)) event.rule.clear();
  for (std::string* text : {&event.host, &event.method, &event.path, &event.reason, &event.rule})
    shorten(*text);
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
