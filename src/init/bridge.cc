#include "init/bridge.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/file.h"

namespace nutshell::init {
namespace {

// Waits for a stream that may be non-blocking: gVisor hands such streams over.
Result<> write_waiting(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return syscall_failure("write");
    TRY(wait_for(to, POLLOUT, Deadline::never()));
  }
  return {};
}

// Returns false at the end of `from`.
Result<bool> carry(int from, int to) {
  std::array<char, 65536> chunk;
  const ssize_t count = ::read(from, chunk.data(), chunk.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count <= 0) return false;
  TRY(write_waiting(to, {chunk.data(), static_cast<std::size_t>(count)}));
  return true;
}

}  // namespace

Result<> bridge(int in, int out, int socket) {
  bool is_in_open = true;
  for (;;) {
    std::array<pollfd, 2> descriptors{{{is_in_open ? in : -1, POLLIN, 0}, {socket, POLLIN, 0}}};
    if (::poll(descriptors.data(), descriptors.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return syscall_failure("poll");
    }
    if (descriptors[0].revents != 0 && !TRY(carry(in, socket))) {
      is_in_open = false;
      ::shutdown(socket, SHUT_WR);
    }
    if (descriptors[1].revents != 0 && !TRY(carry(socket, out))) return {};
  }
}

}  // namespace nutshell::init
