#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nss.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/defer.h"
#include "base/file.h"
#include "base/socket.h"
#include "http/client.h"

namespace nutshell::http {
namespace {

Result<UniqueFd> connect_one(const addrinfo& where, const Deadline& deadline) {
  UniqueFd socket(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return syscall_failure("socket");
  if (::connect(socket.get(), where.ai_addr, where.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return syscall_failure("connect");
    if (!TRY(wait_for(socket.get(), POLLOUT, deadline))) {
      return failure(ErrorCode::DeadlineExceeded, "connect: no answer in time");
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return syscall_failure(error, "connect");
  }
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return syscall_failure("fcntl");
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  return socket;
}

// A static program must not load NSS modules: each would bring a second C library, perhaps of
// another version. It resolves by /etc/hosts and DNS, whose code is part of glibc since 2.34.
void use_no_modules_if_static() {
  const bool is_static = ::getauxval(AT_BASE) == 0;  // no dynamic loader was needed
  if (is_static) ::__nss_configure_lookup("hosts", "files dns");
}

}  // namespace

Dial dial_tcp(std::string host, std::uint16_t port) {
  return [host = std::move(host), port](const Deadline& deadline) -> Result<UniqueFd> {
    const std::string name = fmt::format("{}:{}", host, port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    use_no_modules_if_static();
    // The resolver has deadlines of its own (resolv.conf), not ours.
    const int answer = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (answer != 0) {
      return failure(ErrorCode::Unavailable,
                     fmt::format("find {}: {}", host, ::gai_strerror(answer)));
    }
    const Defer forget([&] { ::freeaddrinfo(found); });
    Result<UniqueFd> socket = failure(ErrorCode::Unavailable, "no address");
    for (const addrinfo* one = found; one != nullptr && !socket; one = one->ai_next)
      socket = connect_one(*one, deadline);
    if (!socket) {
      socket.error().code = ErrorCode::Unavailable;
      return while_doing(fmt::format("reach {}", name), socket.error());
    }
    return socket;
  };
}

}  // namespace nutshell::http
