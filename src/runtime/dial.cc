#include "runtime/dial.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/socket.h"
#include "wire/exec_loop.h"
#include "wire/network_schema.h"

namespace nutshell {
namespace {

using wire::MessageType;

constexpr std::chrono::seconds kOpenTime{15};  // init itself gives a server ten seconds
constexpr std::chrono::seconds kEndTime{5};    // for init to say that a broken connection is over
constexpr std::size_t kMostQueued = 256U << 10U;

Failure refusal_of(std::uint16_t port, int error_number) {
  if (error_number == ECONNREFUSED) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("no server listens on port {} of the sandbox: start one there, on "
                               "127.0.0.1 or on all addresses",
                               port));
  }
  const char* reason = ::strerrordesc_np(error_number);
  const ErrorCode code =
      error_number == ETIMEDOUT ? ErrorCode::DeadlineExceeded : ErrorCode::Unavailable;
  return failure(code, fmt::format("connect to port {} of the sandbox: {}", port,
                                   reason == nullptr ? "it failed" : reason));
}

// Carries the bytes of one Dial conversation.
class Carrying {
 public:
  Carrying(wire::Channel& channel, std::uint32_t conversation, UniqueFd socket)
      : channel_(channel), conversation_(conversation), socket_(std::move(socket)) {}

  Result<InsideConnection::Carried> run(int stop) {
    for (;;) {
      TRY(channel_.send_some());
      TRY(take_frames());
      write_out();
      if (is_over_ && (is_broken_ || has_shut_)) break;
      if (patience_.has_passed()) {
        return failure(ErrorCode::Unavailable, "init does not end a connection that broke");
      }
      TRY(wait(is_broken_ ? -1 : stop));
    }
    TRY(channel_.send_all(Deadline::in(kEndTime)));
    return InsideConnection::Carried{sent_, written_, is_broken_};
  }

 private:
  Result<> take_frames() {
    while (!is_over_) {
      const auto frame = TRY(channel_.next_frame());
      if (!frame) return {};
      if (frame->conversation == conversation_) TRY(take(*frame));
    }
    return {};
  }

  Result<> take(const wire::Frame& frame) {
    switch (frame.type) {
      case MessageType::FlowData:
        return take_data(TRY(wire::decode<wire::FlowData>(frame.payload)).bytes);
      case MessageType::FlowConsumed: {
        const auto offset = TRY(wire::decode<wire::FlowConsumed>(frame.payload)).offset;
        if (offset < consumed_ || offset > sent_) return corrupt("consumed what was not sent");
        consumed_ = offset;
        return {};
      }
      case MessageType::FlowEnd:
        has_server_ended_ = true;
        return {};
      case MessageType::FlowReset:
        has_server_ended_ = true;
        break_socket();
        return {};
      case MessageType::Done:
        if (!has_server_ended_ && !is_broken_) return corrupt("ended without an end of its bytes");
        is_over_ = true;
        return {};
      case MessageType::Failed:
        return wire::decode_failure(frame);
      default:
        return corrupt("sent a message that does not belong to a connection");
    }
  }

  static Failure corrupt(std::string_view what) {
    return failure(ErrorCode::Corrupt, fmt::format("init {}", what));
  }

  Result<> take_data(std::string_view bytes) {
    if (has_server_ended_ || bytes.size() > wire::kMostData) {
      return corrupt("sent bytes of a server after their end, or too many at once");
    }
    received_ += bytes.size();
    if (received_ - told_ > wire::kFlowWindow) return corrupt("sent more than the window allows");
    if (!is_broken_) pending_ += bytes;
    return {};
  }

  void write_out() {
    while (!is_broken_ && begin_ < pending_.size()) {
      const ssize_t count = ::send(socket_.get(), pending_.data() + begin_,
                                   pending_.size() - begin_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) break;
      if (count < 0) return break_server();
      begin_ += static_cast<std::size_t>(count);
      written_ += static_cast<std::uint64_t>(count);
    }
    if (begin_ == pending_.size()) {
      pending_.clear();
      begin_ = 0;
    } else if (begin_ > wire::kFlowWindow / 2) {
      pending_.erase(0, begin_);
      begin_ = 0;
    }
    if (is_broken_) return;
    if (!has_server_ended_ && written_ - told_ >= wire::kFlowWindow / 4) {
      told_ = written_;
      channel_.queue(conversation_, wire::FlowConsumed{0, told_});
    }
    if (has_server_ended_ && pending_.empty() && !has_shut_) {
      (void)::shutdown(socket_.get(), SHUT_WR);  // fails if the other side has reset it
      has_shut_ = true;
    }
  }

  // The socket broke: init ends the connection to the server.
  void break_server() {
    if (is_broken_) return;
    channel_.queue(conversation_, wire::FlowReset{0, {}, 0});
    break_socket();
  }

  // The server broke the connection, so the socket's other end sees a broken one too.
  void break_socket() {
    if (is_broken_) return;
    constexpr linger kAtOnce{1, 0};
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
    socket_.reset();
    is_broken_ = true;
    patience_ = Deadline::in(kEndTime);
  }

  [[nodiscard]] bool wants_input() const {
    return !has_read_end_ && sent_ - consumed_ < wire::kFlowWindow &&
           channel_.queued() < kMostQueued;
  }

  Result<> wait(int stop) {
    const auto stream_events = static_cast<short>(POLLIN | (channel_.queued() > 0 ? POLLOUT : 0));
    short socket_events = 0;
    if (wants_input()) socket_events |= POLLIN;
    if (begin_ < pending_.size()) socket_events |= POLLOUT;
    // A socket whose both sides have ended would report that again and again.
    const bool is_watched = !is_broken_ && (socket_events != 0 || !has_shut_);
    std::array<pollfd, 3> watched{{{channel_.descriptor(), stream_events, 0},
                                   {is_watched ? socket_.get() : -1, socket_events, 0},
                                   {stop, POLLIN, 0}}};
    const int ready = ::poll(watched.data(), watched.size(), patience_.poll_timeout());
    if (ready < 0 && errno != EINTR) return syscall_failure("poll");
    if (ready <= 0) return {};
    if (watched[2].revents != 0) break_server();
    take_socket_events(watched[1].revents);
    if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return {};
    if (TRY(channel_.receive_some())) return {};
    TRY(take_frames());
    if (is_over_) return {};
    return failure(ErrorCode::Unavailable, "the connection to the sandbox was closed");
  }

  void take_socket_events(short events) {
    if (events == 0 || is_broken_) return;
    // The other end of the socket is closed before it was told the end.
    const bool is_gone = (events & POLLHUP) != 0 && !has_shut_;
    if (is_gone || (events & (POLLERR | POLLNVAL)) != 0) return break_server();
    if ((events & (POLLIN | POLLHUP)) != 0 && wants_input()) read_socket();
  }

  void read_socket() {
    const std::uint64_t room = wire::kFlowWindow - (sent_ - consumed_);
    wire::FlowData data;
    data.bytes.resize(std::min<std::uint64_t>(room, wire::kMostData));
    const ssize_t count = ::recv(socket_.get(), data.bytes.data(), data.bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) return break_server();
    if (count == 0) {
      has_read_end_ = true;
      channel_.queue(conversation_, wire::FlowEnd{0});
      return;
    }
    data.bytes.resize(static_cast<std::size_t>(count));
    sent_ += data.bytes.size();
    channel_.queue(conversation_, std::move(data));
  }

  wire::Channel& channel_;
  std::uint32_t conversation_;
  UniqueFd socket_;
  std::string pending_;         // from the server, for the socket
  std::size_t begin_ = 0;       // of what the socket has not taken
  std::uint64_t received_ = 0;  // bytes from the server
  std::uint64_t written_ = 0;   // of them, taken by the socket
  std::uint64_t told_ = 0;      // of them, which init knows of
  std::uint64_t sent_ = 0;      // bytes to the server
  std::uint64_t consumed_ = 0;  // of them, taken by the server
  bool has_read_end_ = false;   // the socket has no more for the server
  bool has_server_ended_ = false;
  bool has_shut_ = false;  // the socket was told so
  bool is_broken_ = false;
  bool is_over_ = false;  // init has ended the conversation
  Deadline patience_ = Deadline::never();
};

struct Opening {
  std::uint32_t conversation = 0;
  std::optional<Error> refusal;  // the stream can be used again
};

// An error means that the stream is of no more use.
Result<Opening> ask(wire::Channel& channel, std::uint16_t port) {
  const std::uint32_t conversation = channel.new_conversation();
  channel.queue(conversation, wire::Dial{port});
  const Deadline deadline = Deadline::in(kOpenTime);
  for (;;) {
    const wire::Frame frame = TRY(channel.receive(deadline));
    if (frame.conversation != conversation) {
      if (!deadline.has_passed()) continue;
      return failure(ErrorCode::DeadlineExceeded, "init does not answer");  // as in InitClient
    }
    if (frame.type == MessageType::Failed) return Opening{0, wire::decode_failure(frame).value()};
    if (frame.type != MessageType::FlowOpened) {
      return failure(ErrorCode::Corrupt, "init sent another message than the expected answer");
    }
    const auto opened = TRY(wire::decode<wire::FlowOpened>(frame.payload));
    if (opened.error_number != 0) {
      return Opening{0, refusal_of(port, opened.error_number).value()};
    }
    return Opening{conversation, std::nullopt};
  }
}

}  // namespace

Result<InsideConnection> InsideConnection::open(wire::InitClient client, std::uint16_t port,
                                                const Keep& keep) {
  const Opening opening = TRY(ask(client.channel(), port));
  if (!opening.refusal) return InsideConnection(std::move(client), opening.conversation, keep);
  keep(std::move(client));
  return Failure(*opening.refusal);
}

Result<InsideConnection::Carried> InsideConnection::carry(UniqueFd socket, int stop) {
  const Carried carried =
      TRY(Carrying(client_.channel(), conversation_, std::move(socket)).run(stop));
  keep_(std::move(client_));
  return carried;
}

Result<InsideConnection> InsideConnection::dial(Runtime& runtime, const std::string& id,
                                                std::uint16_t port) {
  const std::string whole_id = TRY(runtime.whole_id(id));
  wire::InitClient client = TRY(runtime.connect(whole_id));
  const bool was_idle = client.channel().sent_bytes() > 0;
  auto opening = ask(client.channel(), port);
  if (!opening && was_idle) {  // it may have broken unnoticed
    client = wire::InitClient(TRY(runtime.open_stream(whole_id)));
    opening = ask(client.channel(), port);
  }
  const auto [conversation, refusal] = TRY(std::move(opening));
  const Keep keep = [&runtime, whole_id](wire::InitClient free) {
    runtime.keep(whole_id, std::move(free));
  };
  if (!refusal) return InsideConnection(std::move(client), conversation, keep);
  keep(std::move(client));
  return Failure(*refusal);
}

Result<std::unique_ptr<InsideSocket>> InsideSocket::open(InsideConnection connection, int stop) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  std::unique_ptr<InsideSocket> opened(new InsideSocket);
  opened->socket_ = std::move(ours);
  opened->carrier_ = std::jthread(
      [connection = std::move(connection), socket = std::move(theirs), stop]() mutable {
        // The reader of the socket sees an error as a connection that broke.
        (void)connection.carry(std::move(socket), stop);
      });
  return opened;
}

}  // namespace nutshell
