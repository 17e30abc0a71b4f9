#include "base/timed_read.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/file.h"

namespace nutshell {

Result<std::string> read_to_end(int fd, std::size_t limit, const Deadline& deadline) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    if (!TRY(wait_for(fd, POLLIN, deadline)))
      return failure(ErrorCode::DeadlineExceeded, "no answer in time");
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read");
    if (count == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) return failure(ErrorCode::Corrupt, "its answer is too long");
  }
}

}  // namespace nutshell
