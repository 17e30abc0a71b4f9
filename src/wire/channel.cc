#include "wire/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/file.h"

namespace nutshell::wire {

Channel::Channel(UniqueFd stream) : stream_(std::move(stream)) {
  queue(0, Hello{});
}

bool Channel::is_quiet() const {
  // Init's greeting may be there to read.
  const short unwanted = has_greeting_ ? POLLIN : POLLRDHUP;
  pollfd state{stream_.get(), unwanted, 0};
  return ::poll(&state, 1, 0) == 0;
}

Result<> Channel::send_some() {
  while (!outgoing_.empty()) {
    const ssize_t count =
        ::send(stream_.get(), outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return {};
    if (count < 0) return syscall_failure("send to init");
    sent_bytes_ += static_cast<std::uint64_t>(count);
    outgoing_.erase(0, static_cast<std::size_t>(count));
  }
  return {};
}

Result<> Channel::send_all(const Deadline& deadline) {
  for (;;) {
    TRY(send_some());
    if (outgoing_.empty()) return {};
    if (!TRY(wait_for(stream_.get(), POLLOUT, deadline))) {
      return failure(ErrorCode::DeadlineExceeded, "init does not read what the host sends");
    }
  }
}

Result<std::optional<Frame>> Channel::next_frame() {
  auto frame = TRY(reader_.next());
  if (!frame || has_greeting_) return frame;
  const Hello hello =
      frame->type == MessageType::Hello ? TRY(decode<Hello>(frame->payload)) : Hello{0, 0};
  if (hello.magic != kMagic) return failure(ErrorCode::Corrupt, "the other side is not an init");
  if (hello.version != kVersion) {
    return failure(ErrorCode::Unsupported,
                   "the sandbox was started by another version of this program: destroy it and "
                   "create it again");
  }
  has_greeting_ = true;
  return reader_.next();
}

Result<bool> Channel::receive_some() {
  const auto [space, size] = reader_.space();
  const ssize_t count = ::recv(stream_.get(), space, size, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count < 0 && errno != ECONNRESET) return syscall_failure("receive from init");
  if (count <= 0) return false;
  reader_.filled(static_cast<std::size_t>(count));
  return true;
}

Result<Frame> Channel::receive(const Deadline& deadline) {
  TRY(send_all(deadline));
  for (;;) {
    if (const auto frame = TRY(next_frame())) return *frame;
    if (!TRY(wait_for(stream_.get(), POLLIN, deadline))) {
      return failure(ErrorCode::DeadlineExceeded, "init does not answer");
    }
    if (!TRY(receive_some())) return failure(ErrorCode::Unavailable, "the sandbox has ended");
  }
}

}  // namespace nutshell::wire
