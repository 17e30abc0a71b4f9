#include "service/tenants/internal_registry.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string>

namespace nutshell::service {
namespace {

struct Network {
  std::uint32_t address;
  unsigned bits;
};

// Networks that the internet does not route (RFC 6890), and multicast.
constexpr std::array kInternal = {
    Network{0x00000000, 8},  Network{0x0A000000, 8},  Network{0x64400000, 10},
    Network{0x7F000000, 8},  Network{0xA9FE0000, 16}, Network{0xAC100000, 12},
    Network{0xC0000000, 24}, Network{0xC0A80000, 16}, Network{0xC6120000, 15},
    Network{0xE0000000, 3},
};

bool is_internal_address(std::uint32_t address) {
  return std::any_of(kInternal.begin(), kInternal.end(), [address](const Network& network) {
    return (address ^ network.address) >> (32 - network.bits) == 0;
  });
}

// Only 2000::/3 is routed; parts of it carry IPv4 addresses (6to4, Teredo).
bool is_internal_address(const in6_addr& address) {
  const std::uint8_t* bytes = address.s6_addr;
  const bool carries_another =
      (bytes[0] == 0x20 && bytes[1] == 0x02) ||
      (bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0 && bytes[3] == 0);
  return bytes[0] >> 5U != 1 || carries_another;
}

std::string host_of(std::string_view registry) {
  const std::size_t end = registry.starts_with('[') ? registry.find(']') : registry.find(':');
  std::string host(registry.substr(0, end));
  if (host.starts_with('[')) host.erase(0, 1);
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  while (host.ends_with('.'))
    host.pop_back();
  return host;
}

}  // namespace

bool is_internal_registry(std::string_view registry) {
  const std::string host = host_of(registry);
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1)
    return is_internal_address(ntohl(four.s_addr));
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return is_internal_address(six);
  const std::size_t dot = host.rfind('.');
  if (dot == std::string::npos) return true;  // such as localhost
  const std::string_view last = std::string_view(host).substr(dot + 1);
  // Some resolvers take 127.1 or 0x7f.1 for an address.
  if (last.empty() || std::isdigit(static_cast<unsigned char>(last.front())) != 0) return true;
  constexpr std::array<std::string_view, 7> kPrivate = {"localhost", "local", "internal", "lan",
                                                        "home",      "corp",  "intranet"};
  return std::find(kPrivate.begin(), kPrivate.end(), last) != kPrivate.end();
}

}  // namespace nutshell::service
