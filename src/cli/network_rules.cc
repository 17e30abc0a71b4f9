#include "cli/network_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace nutshell::cli {
namespace {

bool is_plain(char letter) {
  constexpr std::string_view kPlain = "._:/-";
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || kPlain.find(letter) != std::string_view::npos;
}

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string quoted = "'";
  for (const char letter : text)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string host_and_port(const NetworkEvent& event) {
  const bool is_six = event.host.find(':') != std::string::npos;
  if (event.port == 0) return event.host;
  return is_six ? fmt::format("[{}]:{}", event.host, event.port)
                : fmt::format("{}:{}", event.host, event.port);
}

std::vector<std::string> sorted(const std::set<std::string>& rules) {
  return {rules.begin(), rules.end()};
}

}  // namespace

std::string place_of(const NetworkEvent& event) {
  const std::string place = host_and_port(event);
  return event.method.empty() ? place : fmt::format("{} {}{}", event.method, place, event.path);
}

std::map<std::string, NetworkAttempts> attempts_of(const std::vector<NetworkEvent>& events) {
  std::map<std::string, NetworkAttempts> places;
  for (const NetworkEvent& event : events) {
    if (event.kind == NetworkEventKind::Closed) continue;
    NetworkAttempts& attempts = places[place_of(event)];
    attempts.counts[event.kind] += event.count;
    if (!event.reason.empty()) attempts.reason = event.reason;
  }
  return places;
}

std::string counts_text(const NetworkAttempts& attempts) {
  std::string text;
  for (const auto& [kind, count] : attempts.counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word_for(kind));
  return text;
}

std::vector<std::string> rules_for_refused(const std::vector<NetworkEvent>& events) {
  std::set<std::string> rules;
  for (const NetworkEvent& event : events) {
    if (event.kind == NetworkEventKind::Refused && !event.rule.empty()) rules.insert(event.rule);
  }
  return sorted(rules);
}

std::vector<std::string> rules_for_reached(const std::vector<NetworkEvent>& events) {
  std::set<std::string> rules;
  for (const NetworkEvent& event : events) {
    if (event.kind == NetworkEventKind::Opened && event.port != 0)
      rules.insert(host_and_port(event));
  }
  return sorted(rules);
}

std::string allow_flags(const std::vector<std::string>& rules) {
  std::string flags;
  for (const std::string& rule : rules)
    flags += fmt::format("{}--allow {}", flags.empty() ? "" : " ", shell_word(rule));
  return flags;
}

}  // namespace nutshell::cli
