#include "init/network/junction.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

namespace nutshell::init {
namespace {

constexpr int kBacklog = 1024;

Result<UniqueFd> listen_at(const SocketAddress& address) {
  UniqueFd socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket || ::bind(socket.get(), address.pointer(), address.size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return syscall_failure("listen on loopback");
  }
  return socket;
}

// The port and the address, IPv4-mapped addresses as IPv4.
std::string name_of_address(const SocketAddress& address) {
  const auto target = parse_target({reinterpret_cast<const char*>(&address.storage), address.size});
  return target ? std::to_string(target->port) + target->address : std::string();
}

std::uint16_t port_of(int socket) {
  SocketAddress own;
  if (::getsockname(socket, own.pointer(), &own.size) != 0) return 0;
  const auto parsed = parse_target({reinterpret_cast<const char*>(&own.storage), own.size});
  return parsed ? parsed->port : 0;
}

}  // namespace

Result<Junction> Junction::open() {
  Junction made;
  made.four_ = TRY(listen_at(loopback_4(0)));
  made.port_four_ = port_of(made.four_.get());
  if (auto six = listen_at(loopback_6(0))) {
    made.six_ = std::move(*six);
    made.port_six_ = port_of(made.six_.get());
  }
  return made;
}

Result<std::pair<UniqueFd, std::uint16_t>> Junction::listen() {
  UniqueFd socket = TRY(listen_at(loopback_4(0)));
  const std::uint16_t port = port_of(socket.get());
  return std::pair(std::move(socket), port);
}

int Junction::connect(int socket, const Target& target) const {
  int family = AF_INET;
  socklen_t size = sizeof family;
  (void)::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  if (family == AF_INET) return connect_at_once(socket, loopback_4(port_four_));
  const bool is_four = target.address.size() == 4 || !six_;
  return connect_at_once(socket, is_four ? mapped_loopback(port_four_) : loopback_6(port_six_));
}

std::optional<Junction::Arrival> Junction::accept(int listener) {
  SocketAddress peer;
  UniqueFd socket(::accept4(listener, peer.pointer(), &peer.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return std::nullopt;
  constexpr int kYes = 1;  // what the server sends has been a packet already
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &kYes, sizeof kYes);
  return Arrival{std::move(socket), name_of_address(peer)};
}

std::string Junction::name_of(int socket) {
  SocketAddress own;
  if (::getsockname(socket, own.pointer(), &own.size) != 0) return {};
  return name_of_address(own);
}

int connect_at_once(int socket, const SocketAddress& address) {
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0) return errno;
  const bool waits = (flags & O_NONBLOCK) == 0;
  if (waits) (void)::fcntl(socket, F_SETFL, flags | O_NONBLOCK);
  const auto connect = [&] {
    return ::connect(socket, address.pointer(), address.size) == 0 ? 0 : errno;
  };
  int error = connect();
  // On loopback it is over by then, and the second call tells how; the kernel counts the socket as
  // connected only after that.
  if (error == EINPROGRESS) error = connect();
  if (error == EALREADY) error = EINPROGRESS;
  if (waits) (void)::fcntl(socket, F_SETFL, flags);
  return error;
}

}  // namespace nutshell::init
