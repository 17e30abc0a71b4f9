#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/file.h"
#include "http/transport.h"

namespace nutshell::http {
namespace {

using Progress = Transport::Progress;

constexpr std::size_t kReadBytes = 64U << 10U;

// Bytes that wait to be sent to one side. The side is told the end once all of them are sent.
struct Waiting {
  std::string bytes;
  std::size_t begin = 0;
  bool has_ended = false;  // no more bytes will come
  bool is_told = false;    // the end was passed on

  [[nodiscard]] bool is_empty() const { return begin == bytes.size(); }
  [[nodiscard]] std::string_view rest() const { return std::string_view(bytes).substr(begin); }
  void took(std::size_t count) {
    begin += count;
    if (!is_empty()) return;
    bytes.clear();
    begin = 0;
  }
};

class Relay {
 public:
  Relay(Transport& transport, int stream, RelayFilter* filter)
      : transport_(transport), stream_(stream), filter_(filter) {}

  // Returns false when nothing is left to carry.
  Result<bool> step() {
    TRY(read_transport());
    TRY(write_stream());
    TRY(read_stream());
    TRY(write_transport());
    return !(to_stream_.is_told && to_transport_.is_told);
  }

  Result<> wait() {
    std::array<pollfd, 2> watched = {pollfd{transport_.descriptor(), 0, 0}, pollfd{stream_, 0, 0}};
    if (wants_from_transport()) watched[0].events |= POLLIN;
    if (!to_transport_.is_empty()) watched[0].events |= POLLOUT;
    if (wants_from_stream()) watched[1].events |= POLLIN;
    if (!to_stream_.is_empty()) watched[1].events |= POLLOUT;
    // poll() reports a hang-up even without requested events, which would make this loop spin.
    for (pollfd& one : watched) {
      if (one.events == 0) one.fd = -1;
    }
    const bool is_ready = wants_from_transport() && transport_.holds_bytes();
    if (::poll(watched.data(), watched.size(), is_ready ? 0 : kLookAroundMs) < 0 &&
        errno != EINTR) {
      return syscall_failure("poll");
    }
    return {};
  }

 private:
  static constexpr int kLookAroundMs = 500;  // how often the caller can stop the relay

  // The filter may turn bytes from one side into bytes for either side, so nothing is read while
  // any bytes wait.
  [[nodiscard]] bool wants_from_transport() const {
    return to_stream_.is_empty() && !to_stream_.has_ended && to_transport_.is_empty();
  }
  [[nodiscard]] bool wants_from_stream() const {
    return to_transport_.is_empty() && !to_transport_.has_ended;
  }

  void pass(const RelayFilter::Passed& passed) {
    to_stream_.bytes += passed.to_stream;
    to_transport_.bytes += passed.to_transport;
  }

  Result<> read_transport() {
    if (!wants_from_transport()) return {};
    const auto step = TRY(transport_.read_some(space_.data(), space_.size()));
    to_stream_.has_ended = step.progress == Progress::End;
    const std::string_view got(space_.data(), step.bytes);
    if (filter_ == nullptr) {
      to_stream_.bytes += got;
    } else if (!got.empty()) {
      pass(TRY(filter_->from_transport(got)));
    }
    return {};
  }

  Result<> write_stream() {
    if (!to_stream_.is_empty()) {
      const auto rest = to_stream_.rest();
      const ssize_t count = ::send(stream_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return syscall_failure("send");
      if (count > 0) to_stream_.took(static_cast<std::size_t>(count));
    }
    if (to_stream_.is_empty() && to_stream_.has_ended && !to_stream_.is_told) {
      ::shutdown(stream_, SHUT_WR);
      to_stream_.is_told = true;
    }
    return {};
  }

  Result<> read_stream() {
    if (!wants_from_stream()) return {};
    const ssize_t count = ::recv(stream_, space_.data(), space_.size(), MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return syscall_failure("receive");
    if (count == 0) to_transport_.has_ended = true;
    if (count <= 0) return {};
    const std::string_view got(space_.data(), static_cast<std::size_t>(count));
    if (filter_ == nullptr) {
      to_transport_.bytes += got;
    } else {
      pass(TRY(filter_->from_stream(got)));
    }
    return {};
  }

  Result<> write_transport() {
    if (!to_transport_.is_empty()) {
      const auto step = TRY(transport_.write_some(to_transport_.rest()));
      to_transport_.took(step.bytes);
    }
    if (to_transport_.is_empty() && to_transport_.has_ended && !to_transport_.is_told) {
      transport_.end_writing();
      to_transport_.is_told = true;
    }
    return {};
  }

  Transport& transport_;
  int stream_;
  RelayFilter* filter_;
  Waiting to_stream_;
  Waiting to_transport_;
  std::string space_ = std::string(kReadBytes, '\0');
};

}  // namespace

Result<> relay(Transport& transport, int stream, const RelayTerms& terms) {
  Relay carrier(transport, stream, terms.filter);
  while (TRY(carrier.step())) {
    if (terms.is_stopped()) return failure(ErrorCode::Cancelled, "stopped");
    TRY(carrier.wait());
  }
  return {};
}

}  // namespace nutshell::http
