#include "wire/message_socket.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/descriptor_message.h"
#include "base/file.h"

namespace nutshell::wire {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);  // little-endian hosts only

Failure too_long() {
  return failure(ErrorCode::Corrupt, "a message is longer than allowed");
}

Result<std::size_t> send_part(int socket, std::string_view bytes, int descriptor) {
  const std::span<const int> descriptors(&descriptor, descriptor >= 0 ? 1 : 0);
  const ssize_t count = send_with_descriptors(socket, bytes, descriptors, MSG_DONTWAIT);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  if (errno == EPIPE || errno == ECONNRESET)
    return failure(ErrorCode::Unavailable, "the other program has ended");
  return syscall_failure("sendmsg");
}

Result<std::size_t> receive_part(int socket, std::span<char> space, UniqueFd& descriptor) {
  const ssize_t count = receive_with_descriptor(socket, space, MSG_DONTWAIT, descriptor);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::size_t{0};
  if (count < 0 && errno != ECONNRESET) return syscall_failure("recvmsg");
  if (count <= 0) return failure(ErrorCode::Unavailable, "the other program has ended");
  return static_cast<std::size_t>(count);
}

Result<> fill(int socket, std::span<char> space, const Deadline& deadline, UniqueFd& descriptor) {
  while (!space.empty()) {
    if (!TRY(wait_for(socket, POLLIN, deadline)))
      return failure(ErrorCode::DeadlineExceeded, "no answer in time");
    space = space.subspan(TRY(receive_part(socket, space, descriptor)));
  }
  return {};
}

}  // namespace

Result<> send_bytes(int socket, std::string_view bytes, const Deadline& deadline, int descriptor) {
  if (bytes.size() > kMostMessageBytes) return too_long();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string whole(reinterpret_cast<const char*>(&size), sizeof size);
  whole += bytes;
  Result<> done;
  for (std::size_t sent = 0; done && sent < whole.size();) {
    const auto is_ready = wait_for(socket, POLLOUT, deadline);
    if (!is_ready || !*is_ready) {
      done = failure(ErrorCode::DeadlineExceeded, "the other program does not read");
      break;
    }
    const auto count =
        send_part(socket, std::string_view(whole).substr(sent), sent == 0 ? descriptor : -1);
    if (!count) {
      done = Failure(count.error());
      break;
    }
    sent += *count;
  }
  ::explicit_bzero(whole.data(), whole.size());  // it may hold secrets
  return done;
}

Result<ReceivedBytes> receive_bytes(int socket, const Deadline& deadline) {
  ReceivedBytes received;
  std::array<char, kLengthBytes> length{};
  TRY(fill(socket, length, deadline, received.descriptor));
  std::uint32_t size = 0;
  std::memcpy(&size, length.data(), sizeof size);
  if (size > kMostMessageBytes) return too_long();
  received.bytes.resize(size);
  TRY(fill(socket, received.bytes, deadline, received.descriptor));
  return received;
}

}  // namespace nutshell::wire
