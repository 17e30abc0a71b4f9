#include "http/remote.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace nutshell::http {

Remote remote_of(int socket) {
  Remote remote;
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&bytes), &size) != 0) return remote;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes.ss_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&bytes);
    ::inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
    remote.address = fmt::format("{}:{}", text.data(), ntohs(four->sin_port));
  } else if (bytes.ss_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&bytes);
    ::inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    remote.address = fmt::format("[{}]:{}", text.data(), ntohs(six->sin6_port));
  } else if (auto peer = peer_of(socket)) {
    remote.process = *peer;
  }
  return remote;
}

std::string source_of_address(const std::string& address) {
  std::string without_port = address.substr(0, address.rfind(':'));
  if (!without_port.starts_with('[')) return without_port;
  std::string inside = without_port.substr(1, without_port.find(']') - 1);
  in6_addr six{};
  if (::inet_pton(AF_INET6, inside.c_str(), &six) != 1) return inside;
  if (IN6_IS_ADDR_LOOPBACK(&six) != 0 || IN6_IS_ADDR_V4MAPPED(&six) != 0) return inside;
  std::fill(std::begin(six.s6_addr) + 8, std::end(six.s6_addr), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &six, text.data(), text.size());
  return fmt::format("{}/64", text.data());
}

std::string source_of(const Remote& remote) {
  if (remote.process) return fmt::format("uid {}", remote.process->user);
  return source_of_address(remote.address);
}

bool is_owner(const Remote& remote) {
  if (!remote.process) return false;
  return remote.process->user == 0 || remote.process->user == ::geteuid();
}

}  // namespace nutshell::http
