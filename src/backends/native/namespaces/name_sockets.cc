#include "backends/native/namespaces/name_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace nutshell::native {
namespace {

constexpr std::uint16_t kNamePort = 53;
constexpr int kBacklog = 16;

Result<UniqueFd> open_socket(int type) {
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kNamePort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      (type == SOCK_STREAM && ::listen(socket.get(), kBacklog) != 0)) {
    return syscall_failure("open port 53 of the sandbox");
  }
  return socket;
}

}  // namespace

Result<NameSockets> open_name_sockets() {
  NameSockets sockets;
  sockets.datagrams = TRY(open_socket(SOCK_DGRAM));
  sockets.listener = TRY(open_socket(SOCK_STREAM));
  return sockets;
}

}  // namespace nutshell::native
