// Reads the "HOST[:PORT]" of Host fields and URLs in one form only, so that no two readers see
// different hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nutshell::egress {

struct HostPort {
  std::string host;  // lower case, without the final dot; an address without brackets
  std::uint16_t port = 0;

  bool operator==(const HostPort&) const = default;
};

// Returns nullopt for user names, zones, letters that no host name has, and addresses in other
// forms than 192.0.2.1 and [2001:db8::1], such as 127.1 and 0x7f000001.
std::optional<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

// Lower case, without the final dot; addresses in their shortest form. nullopt as above.
std::optional<std::string> normal_host(std::string_view host);

// Whether it is an address of either family.
bool is_address(const std::string& host);

}  // namespace nutshell::egress
