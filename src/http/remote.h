// Who is on the other side of a connection, as far as the kernel or TLS has proved it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/socket.h"

namespace nutshell::http {

struct Remote {
  std::optional<Peer> process;   // of a Unix socket
  std::string address;           // of a TCP one, "127.0.0.1:4711"
  std::string certificate_name;  // proven by mutual TLS; empty: none
  std::optional<std::chrono::system_clock::time_point> certificate_end;  // it is valid until then

  // Whether the certificate has expired since the handshake.
  [[nodiscard]] bool has_expired() const {
    return certificate_end && std::chrono::system_clock::now() >= *certificate_end;
  }
};

Remote remote_of(int socket);

// The user at the other end of a Unix socket, or the address without its port. IPv6 addresses of
// one /64 count as one: whoever has one of them usually has all.
std::string source_of(const Remote& remote);
// The same of an address with its port, as in Remote.
std::string source_of_address(const std::string& address);

// Whether a process of root or of the user whose server this is has connected.
bool is_owner(const Remote& remote);

}  // namespace nutshell::http
