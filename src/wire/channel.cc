#include "wire/channel.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

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
  const auto received = static_cast<std::size_t>(count);
  reader_.filled(received);
  if (arrived_in_time_) *arrived_in_time_ -= std::min(received, *arrived_in_time_);
  return true;
}

// Otherwise an init that sends without end would hold the caller for ever.
Result<bool> Channel::has_bytes_by(const Deadline& deadline) {
  if (!TRY(wait_for(stream_.get(), POLLIN, deadline))) return false;
  if (!deadline.has_passed()) return true;
  if (arrived_in_time_) return *arrived_in_time_ > 0;
  int bytes = 0;
  if (::ioctl(stream_.get(), FIONREAD, &bytes) != 0) return syscall_failure("ioctl FIONREAD");
  arrived_in_time_ = static_cast<std::size_t>(bytes);
  return true;  // without bytes it is the end of the stream that can be read
}

Result<Frame> Channel::receive(const Deadline& deadline) {
  TRY(send_all(deadline));
  if (!deadline.has_passed()) arrived_in_time_.reset();
  for (;;) {
    if (const auto frame = TRY(next_frame())) return *frame;
    if (!TRY(has_bytes_by(deadline))) {
      arrived_in_time_.reset();  // a later call is about what lies there then
      return failure(ErrorCode::DeadlineExceeded, "init does not answer");
    }
    if (!TRY(receive_some()))  // whether the sandbox has ended only its backend knows
      return failure(ErrorCode::Unavailable, "the connection to the sandbox was closed");
  }
}

}  // namespace nutshell::wire
