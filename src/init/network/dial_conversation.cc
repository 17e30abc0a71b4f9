#include "init/network/dial_conversation.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "init/network/junction.h"

namespace nutshell::init {
namespace {

constexpr auto kConnectTime = std::chrono::seconds(10);

UniqueFd make_socket(int family) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  constexpr int kYes = 1;
  if (socket) (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &kYes, sizeof kYes);
  return socket;
}

}  // namespace

Result<std::unique_ptr<Conversation>> open_dial_conversation(const wire::Frame& frame) {
  const auto dial = TRY(wire::decode<wire::Dial>(frame.payload));
  if (dial.port == 0) return failure(ErrorCode::InvalidArgument, "a server's port is not 0");
  return DialConversation::open(frame.conversation, dial.port);
}

Result<std::unique_ptr<Conversation>> DialConversation::open(std::uint32_t number,
                                                             std::uint16_t port) {
  std::unique_ptr<DialConversation> opened(new DialConversation(number));
  opened->port_ = port;
  opened->events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!opened->events_) return syscall_failure("epoll_create");
  opened->deadline_ = Deadline::in(kConnectTime);
  opened->connect(loopback_4(port));
  return std::unique_ptr<Conversation>(std::move(opened));
}

void DialConversation::connect(const SocketAddress& address) {
  connecting_ = make_socket(address.storage.ss_family);
  if (!connecting_) return connected(errno);
  const int error = connect_at_once(connecting_.get(), address);
  if (error != EINPROGRESS) return connected(error);
  watch(connecting_.get());
}

void DialConversation::watch(int socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  // Without events the deadline ends it.
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_MOD, socket, &event);
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket, &event);
}

void DialConversation::connected(int error) {
  if (error == ECONNREFUSED && !std::exchange(has_tried_six_, true)) {
    return connect(loopback_6(port_));
  }
  // A host without IPv6 has no server there either.
  if (has_tried_six_ && (error == EADDRNOTAVAIL || error == EAFNOSUPPORT)) error = ECONNREFUSED;
  deadline_ = Deadline::never();
  const std::string reason =
      error == 0 ? std::string()
                 : fmt::format("port {} of the sandbox: {}", port_, ::strerrordesc_np(error));
  send(wire::FlowOpened{0, static_cast<std::uint16_t>(error), reason, 0});
  if (error != 0) {
    connecting_.reset();
    is_last_ = true;
    return;
  }
  watch(connecting_.get());
  carrier_.emplace(std::move(connecting_));
}

void DialConversation::progress() {
  std::array<epoll_event, 1> events{};
  const bool has_event = ::epoll_wait(events_.get(), events.data(), 1, 0) == 1;
  if (carrier_) {
    if (has_event) carrier_->handle_events(events[0].events);
    return finish();
  }
  if (!connecting_) return;
  if (!has_event) {
    if (deadline_.has_passed()) connected(ETIMEDOUT);
    return;
  }
  int error = ECONNREFUSED;
  socklen_t size = sizeof error;
  (void)::getsockopt(connecting_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  connected(error);
}

// Says so when both directions have ended.
void DialConversation::finish() {
  if (is_last_ || !carrier_ || !carrier_->is_over() || carrier_->is_broken()) return;
  send(wire::Done{});
  is_last_ = true;
}

Result<> DialConversation::receive(const wire::Frame& frame) {
  using enum wire::MessageType;
  if (!carrier_ || is_last_) return {};
  switch (frame.type) {
    case FlowData:
      TRY(carrier_->pass_on(TRY(wire::decode<wire::FlowData>(frame.payload)).bytes));
      break;
    case FlowConsumed:
      TRY(carrier_->consumed(TRY(wire::decode<wire::FlowConsumed>(frame.payload)).offset));
      break;
    case FlowEnd:
      carrier_->end();
      break;
    case FlowReset:
      carrier_->reset();
      carrier_.reset();
      send(wire::Done{});
      is_last_ = true;
      break;
    default:
      return failure(ErrorCode::Corrupt,
                     "the host sent a message that does not belong to a connection");
  }
  finish();
  return {};
}

std::optional<std::string_view> DialConversation::ready() {
  if (!frame_.empty()) return frame_;
  if (carrier_ && !is_last_) {
    if (const auto offset = carrier_->due_consumption()) send(wire::FlowConsumed{0, *offset});
  }
  if (!messages_.empty()) {
    frame_ = std::move(messages_.front());
    messages_.pop_front();
    return frame_;
  }
  if (is_last_ || !carrier_ || !carrier_->may_read()) return std::nullopt;
  wire::FlowData data;
  switch (carrier_->read(data.bytes)) {
    case Carrier::Step::Nothing:
      return std::nullopt;
    case Carrier::Step::Data:
      wire::append_frame(frame_, number_, std::move(data));
      break;
    case Carrier::Step::End:
      wire::append_frame(frame_, number_, wire::FlowEnd{0});
      finish();
      break;
    case Carrier::Step::Broken:
      wire::append_frame(frame_, number_, wire::FlowReset{0, "the server broke the connection", 0});
      send(wire::Done{});
      is_last_ = true;
      break;
  }
  return frame_;
}

void DialConversation::sent() {
  frame_.clear();
  is_over_ = is_last_ && messages_.empty();
}

}  // namespace nutshell::init
