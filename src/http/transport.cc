#include "http/transport.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/file.h"

namespace nutshell::http {
namespace {

Result<> wait_until_ready(const Transport& transport, Transport::Progress progress,
                          const Deadline& deadline) {
  const bool wants_write = progress == Transport::Progress::WantsWrite;
  const short events = wants_write ? POLLOUT : POLLIN;
  if (TRY(wait_for(transport.descriptor(), events, deadline))) return {};
  return failure(ErrorCode::DeadlineExceeded,
                 wants_write ? "the other side takes no bytes" : "the other side sends no bytes");
}

class BareTransport : public Transport {
 public:
  explicit BareTransport(UniqueFd socket) : socket_(std::move(socket)) {}

  Result<Step> read_some(char* space, std::size_t size) override {
    for (;;) {
      const ssize_t count = ::recv(socket_.get(), space, size, MSG_DONTWAIT);
      if (count > 0) return Step{Progress::Moved, static_cast<std::size_t>(count)};
      if (count == 0) return Step{Progress::End, 0};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Step{Progress::WantsRead, 0};
      if (errno != EINTR) return gone("receive");
    }
  }

  Result<Step> write_some(std::string_view bytes) override {
    for (;;) {
      const ssize_t count =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) return Step{Progress::Moved, static_cast<std::size_t>(count)};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Step{Progress::WantsWrite, 0};
      if (errno != EINTR) return gone("send");
    }
  }

  void end_writing() override {
    ::shutdown(socket_.get(), SHUT_WR);  // fails if the other side is gone already
  }

  [[nodiscard]] int descriptor() const override { return socket_.get(); }
  [[nodiscard]] bool is_bare() const override { return true; }
  UniqueFd release() override { return std::move(socket_); }

 private:
  static Failure gone(std::string_view what) {
    auto error = syscall_failure(what);
    if (errno == EPIPE || errno == ECONNRESET) error.value().code = ErrorCode::Unavailable;
    return error;
  }

  UniqueFd socket_;
};

}  // namespace

Result<> Transport::finish_handshake(const Deadline& deadline) {
  for (;;) {
    const Step step = TRY(handshake());
    if (step.progress == Progress::Moved) return {};
    if (step.progress == Progress::End) {
      return failure(ErrorCode::Unavailable, "the other side hung up during the handshake");
    }
    TRY(wait_until_ready(*this, step.progress, deadline));
  }
}

Result<std::size_t> Transport::read(char* space, std::size_t size, const Deadline& deadline) {
  for (;;) {
    const Step step = TRY(read_some(space, size));
    if (step.progress == Progress::Moved) return step.bytes;
    if (step.progress == Progress::End) return 0;
    TRY(wait_until_ready(*this, step.progress, deadline));
  }
}

Result<> Transport::write(std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const Step step = TRY(write_some(bytes));
    if (step.progress == Progress::End) {
      return failure(ErrorCode::Unavailable, "the other side hung up");
    }
    if (step.progress == Progress::Moved) {
      bytes.remove_prefix(step.bytes);
    } else {
      TRY(wait_until_ready(*this, step.progress, deadline));
    }
  }
  return {};
}

Result<std::unique_ptr<Transport>> make_bare_transport(UniqueFd socket) {
  return std::make_unique<BareTransport>(std::move(socket));
}

}  // namespace nutshell::http
