#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/file.h"
#include "http/transport.h"

namespace nutshell::http {
namespace {

using Progress = Transport::Progress;

// Bytes that were taken from one side and wait for the other.
struct Held {
  std::array<char, 64U << 10U> space;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool has_ended = false;  // nothing more will come
  bool is_told = false;    // and the other side knows it

  [[nodiscard]] bool is_empty() const { return begin == end; }
  [[nodiscard]] bool wants_more() const { return is_empty() && !has_ended; }
  [[nodiscard]] std::string_view bytes() const { return {space.data() + begin, end - begin}; }
  void took(std::size_t count) {
    begin += count;
    if (is_empty()) begin = end = 0;
  }
};

class Relay {
 public:
  Relay(Transport& transport, int stream) : transport_(transport), stream_(stream) {}

  // False when there is nothing left to carry.
  Result<bool> step() {
    TRY(read_transport());
    TRY(write_stream());
    TRY(read_stream());
    TRY(write_transport());
    return !(inward_->is_told && outward_->is_told);
  }

  Result<> wait() {
    std::array<pollfd, 2> watched = {pollfd{transport_.descriptor(), 0, 0}, pollfd{stream_, 0, 0}};
    if (inward_->wants_more()) watched[0].events |= POLLIN;
    if (!outward_->is_empty()) watched[0].events |= POLLOUT;
    if (outward_->wants_more()) watched[1].events |= POLLIN;
    if (!inward_->is_empty()) watched[1].events |= POLLOUT;
    // A hang-up is always reported; one that nobody waits for would make this loop spin.
    for (pollfd& one : watched) {
      if (one.events == 0) one.fd = -1;
    }
    if (::poll(watched.data(), watched.size(), kLookAroundMs) < 0 && errno != EINTR) {
      return syscall_failure("poll");
    }
    return {};
  }

 private:
  static constexpr int kLookAroundMs = 500;  // for whoever wants to stop this

  Result<> read_transport() {
    if (!inward_->wants_more()) return {};
    const auto step = TRY(transport_.read_some(inward_->space.data(), inward_->space.size()));
    inward_->end = step.bytes;
    inward_->has_ended = step.progress == Progress::End;
    return {};
  }

  Result<> write_stream() {
    if (!inward_->is_empty()) {
      const auto held = inward_->bytes();
      const ssize_t count = ::send(stream_, held.data(), held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return syscall_failure("send");
      if (count > 0) inward_->took(static_cast<std::size_t>(count));
    }
    if (inward_->is_empty() && inward_->has_ended && !inward_->is_told) {
      ::shutdown(stream_, SHUT_WR);
      inward_->is_told = true;
    }
    return {};
  }

  Result<> read_stream() {
    if (!outward_->wants_more()) return {};
    const ssize_t count =
        ::recv(stream_, outward_->space.data(), outward_->space.size(), MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return syscall_failure("receive");
    if (count == 0) outward_->has_ended = true;
    if (count > 0) outward_->end = static_cast<std::size_t>(count);
    return {};
  }

  Result<> write_transport() {
    if (!outward_->is_empty()) {
      const auto step = TRY(transport_.write_some(outward_->bytes()));
      outward_->took(step.bytes);
    }
    if (outward_->is_empty() && outward_->has_ended && !outward_->is_told) {
      transport_.end_writing();
      outward_->is_told = true;
    }
    return {};
  }

  Transport& transport_;
  int stream_;
  std::unique_ptr<Held> inward_ = std::make_unique<Held>();
  std::unique_ptr<Held> outward_ = std::make_unique<Held>();
};

}  // namespace

Result<> relay(Transport& transport, int stream, const std::function<bool()>& is_stopped) {
  Relay carrier(transport, stream);
  while (TRY(carrier.step())) {
    if (is_stopped()) return failure(ErrorCode::Cancelled, "stopped");
    TRY(carrier.wait());
  }
  return {};
}

}  // namespace nutshell::http
