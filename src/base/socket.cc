#include "base/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "base/connect_within.h"
#include "base/descriptor_message.h"
#include "base/file.h"

namespace nutshell {
namespace {

// sun_path is short: the socket is named through the open directory instead.
Result<UniqueFd> open_directory_of(const std::filesystem::path& path) {
  return open_file(path.parent_path(), O_PATH | O_DIRECTORY);
}

Result<sockaddr_un> address_of(int directory, const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("/proc/self/fd/{}/{}", directory, path.filename().native());
  if (name.size() >= sizeof(address.sun_path)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("socket name {} is too long", name));
  }
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  return address;
}

struct Named {
  UniqueFd directory;  // open for as long as the address is used
  sockaddr_un address{};
  socklen_t size = sizeof(sockaddr_un);
};

Result<Named> name_socket(const std::filesystem::path& path) {
  Named named;
  const std::string& text = path.native();
  if (!text.starts_with('@')) {
    named.directory = TRY(open_directory_of(path));
    named.address = TRY(address_of(named.directory.get(), path));
    return named;
  }
  if (text.size() > sizeof(named.address.sun_path))
    return failure(ErrorCode::InvalidArgument, fmt::format("socket name {} is too long", text));
  named.address.sun_family = AF_UNIX;
  std::memcpy(named.address.sun_path + 1, text.data() + 1, text.size() - 1);
  named.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  return named;
}

int type_of(SocketKind kind) {
  return kind == SocketKind::Stream ? SOCK_STREAM : SOCK_SEQPACKET;
}

Result<UniqueFd> make_socket(SocketKind kind) {
  UniqueFd fd(::socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC, 0));
  if (!fd) return syscall_failure("socket");
  return fd;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair(SocketKind kind) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type_of(kind) | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return syscall_failure("socketpair");
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<UniqueFd> listen_on(const std::filesystem::path& path, SocketKind kind) {
  const Named named = TRY(name_socket(path));
  UniqueFd fd = TRY(make_socket(kind));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&named.address), named.size) != 0) {
    return syscall_failure("bind", path.native());
  }
  if (::listen(fd.get(), 128) != 0) return syscall_failure("listen", path.native());
  return fd;
}

Result<UniqueFd> connect_to(const std::filesystem::path& path, SocketKind kind) {
  return connect_within(std::chrono::seconds(10), path, kind);
}

Result<UniqueFd> connect_within(std::chrono::milliseconds patience,
                                const std::filesystem::path& path, SocketKind kind) {
  const Named named = TRY(name_socket(path));
  UniqueFd fd = TRY(make_socket(kind));
  // The listener may be frozen with a full queue: connect() must not wait for it.
  const timeval longest{patience.count() / 1000, (patience.count() % 1000) * 1000};
  constexpr timeval kNone{0, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&named.address), named.size) != 0) {
    if (errno != EAGAIN) return syscall_failure("connect", path.native());
    return failure(ErrorCode::Unavailable, "connect " + path.native() + ": its queue is full");
  }
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kNone, sizeof kNone);
  return fd;
}

Result<UniqueFd> accept_from(int listener) {
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return syscall_failure("accept");
  return fd;
}

Result<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return syscall_failure("getsockopt SO_PEERCRED");
  }
  return Peer{credentials.uid, credentials.gid, credentials.pid};
}

namespace {

Result<bool> send_with(int flags, int socket, std::string_view bytes,
                       const std::vector<int>& descriptors) {
  if (bytes.size() > kMostPacketBytes || descriptors.size() > kMostPacketDescriptors) {
    return failure(ErrorCode::InvalidArgument, "packet too large");
  }
  for (;;) {
    if (send_with_descriptors(socket, bytes, descriptors, flags) >= 0) return true;
    if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) return false;
    if (errno != EINTR) return syscall_failure("sendmsg");
  }
}

}  // namespace

Result<> send_packet(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  TRY(send_with(0, socket, bytes, descriptors));
  return {};
}

Result<bool> try_send_packet(int socket, std::string_view bytes,
                             const std::vector<int>& descriptors) {
  return send_with(MSG_DONTWAIT, socket, bytes, descriptors);
}

Result<Packet> receive_packet(int socket, const Deadline& deadline) {
  Packet packet;
  std::array<char, kMostPacketBytes> bytes;  // not cleared: only what came is used
  for (;;) {
    if (!TRY(wait_for(socket, POLLIN, deadline))) {
      return failure(ErrorCode::DeadlineExceeded, "no answer in time");
    }
    Arrived arrived = Arrived::Whole;
    const ssize_t count =
        receive_with_descriptors(socket, bytes, MSG_DONTWAIT, packet.descriptors, &arrived);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return syscall_failure("recvmsg");
    if (arrived == Arrived::Cut) return failure(ErrorCode::Corrupt, "packet longer than allowed");
    packet.bytes.assign(bytes.data(), static_cast<std::size_t>(count));
    ::explicit_bzero(bytes.data(), static_cast<std::size_t>(count));  // it may hold secrets
    return packet;
  }
}

}  // namespace nutshell
