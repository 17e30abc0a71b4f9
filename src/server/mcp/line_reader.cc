#include "server/mcp/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>

namespace nutshell::mcp {
namespace {

constexpr std::size_t kPiece = 64U << 10U;

// True if `fd` is readable or has ended; false if the interrupt came.
Result<bool> wait_for_input(int fd, int interrupt) {
  std::array<pollfd, 2> watched{{{fd, POLLIN, 0}, {interrupt, POLLIN, 0}}};
  while (::poll(watched.data(), watched.size(), -1) < 0)
    if (errno != EINTR) return syscall_failure("poll", "the client");
  return watched[1].revents == 0;
}

}  // namespace

std::optional<LineReader::Line> LineReader::take() {
  const std::size_t end = buffer_.find('\n', scanned_);
  scanned_ = buffer_.size();
  if (end == std::string::npos) {
    const bool is_too_long = buffer_.size() - begin_ > most_;
    if (is_too_long || is_skipping_) buffer_.resize(begin_);
    scanned_ = buffer_.size();
    if (!is_too_long || is_skipping_) return std::nullopt;
    is_skipping_ = true;
    return Line{{}, true};
  }
  Line line;
  const bool is_rest = std::exchange(is_skipping_, false);
  const std::size_t length = end - begin_;
  line.is_too_long = length > most_;
  if (!line.is_too_long && !is_rest) line.text = buffer_.substr(begin_, length);
  begin_ = end + 1;
  scanned_ = begin_;
  return line;
}

Result<std::optional<LineReader::Line>> LineReader::next(int interrupt) {
  while (true) {
    if (begin_ < buffer_.size()) {
      if (auto line = take()) return line;
    }
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
    if (!TRY(wait_for_input(fd_, interrupt))) return std::optional<Line>();
    const std::size_t old = buffer_.size();
    buffer_.resize(old + kPiece);
    const ssize_t got = ::read(fd_, buffer_.data() + old, kPiece);
    buffer_.resize(old + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return std::optional<Line>();
    if (got < 0 && errno != EINTR && errno != EAGAIN) return syscall_failure("read", "the client");
    if (buffer_.capacity() > 4 * most_) buffer_.shrink_to_fit();
  }
}

}  // namespace nutshell::mcp
