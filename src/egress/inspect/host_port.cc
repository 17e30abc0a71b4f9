#include "egress/inspect/host_port.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace nutshell::egress {
namespace {

constexpr std::size_t kMostHostBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_of_name(char letter) {
  const char small = lower(letter);
  return (small >= 'a' && small <= 'z') || is_digit(letter) || letter == '-' || letter == '_';
}

std::optional<std::string> address6(const std::string& text) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> shortest{};
  if (::inet_pton(AF_INET6, text.c_str(), &address) != 1) return std::nullopt;
  if (::inet_ntop(AF_INET6, &address, shortest.data(), shortest.size()) == nullptr)
    return std::nullopt;
  return std::string(shortest.data());
}

// Some resolvers read a name whose last label is a number as an address: "127.1", "0x7f.1", "8".
bool looks_like_address(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  return !last.empty() && is_digit(last.front()) &&
         (std::all_of(last.begin(), last.end(), is_digit) || last.substr(0, 2) == "0x");
}

bool has_sound_labels(std::string_view name) {
  std::size_t length = 0;
  for (const char letter : name) {
    if (letter != '.' && !is_of_name(letter)) return false;
    length = letter == '.' ? 0 : length + 1;
    if (length > kMostLabelBytes) return false;
  }
  return name.front() != '.' && name.back() != '.' && name.find("..") == std::string_view::npos;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  unsigned number = 0;
  if (text.empty() || text.size() > 5) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number == 0 || number > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

}  // namespace

std::optional<std::string> normal_host(std::string_view host) {
  if (host.find(':') != std::string_view::npos) return address6(std::string(host));
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  if (host.empty() || host.size() > kMostHostBytes || !has_sound_labels(host)) return std::nullopt;
  std::string name(host);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  in_addr address{};
  if (looks_like_address(name) && ::inet_pton(AF_INET, name.c_str(), &address) != 1)
    return std::nullopt;
  return name;
}

std::optional<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port) {
  HostPort parsed{{}, default_port};
  std::string_view host = text;
  std::size_t colon = text.rfind(':');
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
    colon = end + 1 < text.size() ? end + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && text[colon] != ':') return std::nullopt;
  } else if (colon != std::string_view::npos) {
    host = text.substr(0, colon);
    if (host.find(':') != std::string_view::npos) return std::nullopt;
  }
  if (colon != std::string_view::npos) {
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) return std::nullopt;
    parsed.port = *port;
  }
  auto normal = normal_host(host);
  if (!normal) return std::nullopt;
  parsed.host = std::move(*normal);
  return parsed;
}

bool is_address(const std::string& host) {
  in6_addr space{};
  return ::inet_pton(AF_INET, host.c_str(), &space) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &space) == 1;
}

}  // namespace nutshell::egress
