#include "init/network/target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace nutshell::init {
namespace {

constexpr std::size_t kShortestSix = 24;  // without the scope, which the kernel does not ask for
constexpr std::string_view kMapped{"\0\0\0\0\0\0\0\0\0\0\xff\xff", 12};
constexpr std::string_view kLoopbackFour{"\x7f\0\0\1", 4};
constexpr std::string_view kLoopbackSix{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16};

SocketAddress address_6(std::string_view bytes, std::uint16_t port) {
  SocketAddress made;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, bytes.data(), sizeof address.sin6_addr);
  std::memcpy(&made.storage, &address, sizeof address);
  made.size = sizeof address;
  return made;
}

}  // namespace

bool Target::is_loopback() const {
  return address.size() == 4 ? address[0] == kLoopbackFour[0] : address == kLoopbackSix;
}

std::optional<Target> parse_target(std::string_view bytes) {
  Target target;
  if (bytes.size() < sizeof(sa_family_t) || bytes.size() > sizeof target.as_given.storage) {
    return std::nullopt;
  }
  std::memcpy(&target.as_given.storage, bytes.data(), bytes.size());
  target.as_given.size = static_cast<socklen_t>(bytes.size());
  const sa_family_t family = target.as_given.storage.ss_family;
  if (family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    sockaddr_in four{};
    std::memcpy(&four, bytes.data(), sizeof four);
    target.port = ntohs(four.sin_port);
    target.address.assign(reinterpret_cast<const char*>(&four.sin_addr), sizeof four.sin_addr);
  } else if (family == AF_INET6 && bytes.size() >= kShortestSix) {
    sockaddr_in6 six{};
    std::memcpy(&six, bytes.data(), std::min(bytes.size(), sizeof six));
    target.port = ntohs(six.sin6_port);
    target.address.assign(reinterpret_cast<const char*>(&six.sin6_addr), sizeof six.sin6_addr);
    if (target.address.starts_with(kMapped)) target.address.erase(0, kMapped.size());
  } else {
    return std::nullopt;
  }
  const bool is_any = target.address.find_first_not_of('\0') == std::string::npos;
  if (is_any) target.address = target.address.size() == 4 ? kLoopbackFour : kLoopbackSix;
  return target;
}

SocketAddress loopback_4(std::uint16_t port) {
  SocketAddress made;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::memcpy(&made.storage, &address, sizeof address);
  made.size = sizeof address;
  return made;
}

SocketAddress loopback_6(std::uint16_t port) {
  return address_6(kLoopbackSix, port);
}

SocketAddress mapped_loopback(std::uint16_t port) {
  return address_6(std::string(kMapped) + std::string(kLoopbackFour), port);
}

}  // namespace nutshell::init
