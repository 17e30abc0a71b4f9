#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>

#include "base/file.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "http/server.h"

namespace nutshell::http {
namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

Result<Address> address_of(const std::string& text, std::uint16_t port) {
  Address address;
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
    sockaddr_in whole{};
    whole.sin_family = AF_INET;
    whole.sin_port = htons(port);
    whole.sin_addr = four;
    std::memcpy(&address.bytes, &whole, address.size = sizeof whole);
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    sockaddr_in6 whole{};
    whole.sin6_family = AF_INET6;
    whole.sin6_port = htons(port);
    whole.sin6_addr = six;
    std::memcpy(&address.bytes, &whole, address.size = sizeof whole);
    return address;
  }
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is not an address such as 127.0.0.1 or ::1", text));
}

// Refuses a path that is in use. A socket file without a listener counts as free.
Result<> check_free(const std::filesystem::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) {
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("{} exists and is not a socket", path.native()));
  }
  if (connect_to(path, SocketKind::Stream)) {
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("another process listens on {}", path.native()));
  }
  return {};
}

}  // namespace

Result<UniqueFd> listen_on_unix(const std::filesystem::path& path) {
  TRY(check_free(path));
  // Binds the socket under a random name and renames it once its mode is set, so that nobody can
  // connect before.
  const std::filesystem::path hidden = path.native() + "." + random_id(12);
  UniqueFd listener = TRY(listen_on(hidden, SocketKind::Stream));
  if (::chmod(hidden.c_str(), 0600) != 0 || ::rename(hidden.c_str(), path.c_str()) != 0) {
    const auto error = syscall_failure("place socket", path.native());
    ::unlink(hidden.c_str());
    return error;
  }
  return listener;
}

Result<UniqueFd> listen_on_tcp(const std::string& address, std::uint16_t port) {
  const Address where = TRY(address_of(address, port));
  const std::string name = fmt::format("{} port {}", address, port);
  UniqueFd listener(::socket(where.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return syscall_failure("socket");
  const int yes = 1;
  // Allows binding while old connections are in TIME_WAIT. Two listeners stay impossible.
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (where.bytes.ss_family == AF_INET6) {
    ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  }
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&where.bytes), where.size) != 0) {
    return syscall_failure("bind", name);
  }
  if (::listen(listener.get(), 1024) != 0) return syscall_failure("listen", name);
  return listener;
}

Result<std::uint16_t> port_of(int listener) {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&bytes), &size) != 0) {
    return syscall_failure("getsockname");
  }
  if (bytes.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_port);
  }
  if (bytes.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_port);
  }
  return failure(ErrorCode::InvalidArgument, "not a TCP socket");
}

}  // namespace nutshell::http
