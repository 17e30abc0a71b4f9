// The other side of a connection, as far as the kernel or TLS has proved its identity.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/socket.h"

namespace nutshell::http {

struct Remote {
  std::optional<Peer> process;   // on a Unix socket
  std::string address;           // over TCP: "127.0.0.1:4711"
  std::string certificate_name;  // proven by mutual TLS; else empty
  std::optional<std::chrono::system_clock::time_point> certificate_end;  // it is valid until then

  // Whether the certificate has expired since the handshake.
  [[nodiscard]] bool has_expired() const {
    return certificate_end && std::chrono::system_clock::now() >= *certificate_end;
  }
};

Remote remote_of(int socket);

// The user at the other end of a Unix socket, or the address without its port. All IPv6 addresses
// of one /64 are one source: one client usually has all of them.
std::string source_of(const Remote& remote);
// As above, for an address with its port.
std::string source_of_address(const std::string& address);

// Whether a process of root or of the user whose server this is has connected.
bool is_owner(const Remote& remote);

}  // namespace nutshell::http
