// The address that a command wants to connect to.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nutshell::init {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  [[nodiscard]] const sockaddr* pointer() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&storage); }
};

struct Target {
  SocketAddress as_given;
  std::string address;  // 4 or 16 bytes in network order; an IPv4-mapped address has 4
  std::uint16_t port = 0;
  [[nodiscard]] bool is_loopback() const;
};

// nullopt for anything but IPv4 and IPv6. The address "any" means loopback, as in the kernel.
std::optional<Target> parse_target(std::string_view bytes);

SocketAddress loopback_4(std::uint16_t port);
SocketAddress loopback_6(std::uint16_t port);
// 127.0.0.1 for a socket of IPv6.
SocketAddress mapped_loopback(std::uint16_t port);

}  // namespace nutshell::init
