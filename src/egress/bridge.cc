#include "egress/bridge.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/socket.h"
#include "wire/network_schema.h"

namespace nutshell::egress {

Result<UniqueFd> Bridge::begin() {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  socket_ = std::move(ours);
  watch_ = TRY(loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) {
    pump();
    moved_();
  }));
  return std::move(theirs);
}

Result<> Bridge::take_data(std::string_view bytes) {
  from_init_ += bytes.size();
  if (has_init_ended_ || bytes.size() > wire::kMostData || from_init_ - told_ > wire::kFlowWindow) {
    return failure(ErrorCode::Corrupt, "init sent more of a flow than it may");
  }
  pending_ += bytes;
  pump();
  return {};
}

Result<> Bridge::take_consumed(std::uint64_t offset) {
  if (offset < consumed_ || offset > to_init_)
    return failure(ErrorCode::Corrupt, "init consumed what it was not sent");
  consumed_ = offset;
  pump();
  return {};
}

void Bridge::take_end() {
  has_init_ended_ = true;
  pump();
}

void Bridge::stop() {
  loop_.forget(std::exchange(watch_, 0));
  socket_.reset();
}

void Bridge::pump() {
  if (!socket_) return;
  write_pending();
  read_some();
  std::uint32_t events = 0;
  const bool has_room = to_init_ - consumed_ < wire::kFlowWindow && stream_.queued() < kMostQueued;
  if (!has_sent_end_ && has_room) events |= EPOLLIN;
  if (!pending_.empty()) events |= EPOLLOUT;
  if (events == 0) {
    loop_.forget(std::exchange(watch_, 0));
  } else if (watch_ != 0) {
    loop_.change(watch_, events);
  } else {
    auto watch = loop_.watch(socket_.get(), events, [this](std::uint32_t) {
      pump();
      moved_();
    });
    if (watch) watch_ = *watch;
  }
}

void Bridge::write_pending() {
  while (written_ < pending_.size()) {
    const ssize_t count = ::send(socket_.get(), pending_.data() + written_,
                                 pending_.size() - written_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    // The flow is closed on our side: what init still sends is thrown away.
    const std::size_t taken =
        count < 0 ? pending_.size() - written_ : static_cast<std::size_t>(count);
    written_ += taken;
    passed_on_ += taken;
  }
  if (written_ == pending_.size()) {
    pending_ = std::string();
    written_ = 0;
  }
  if (passed_on_ - told_ >= wire::kFlowWindow / 4) {
    told_ = passed_on_;
    stream_.queue(wire::FlowConsumed{flow_, told_});
  }
  if (has_init_ended_ && pending_.empty() && !is_end_passed_on_) {
    is_end_passed_on_ = true;
    ::shutdown(socket_.get(), SHUT_WR);
  }
}

void Bridge::read_some() {
  std::array<char, wire::kMostData> bytes;  // NOLINT: not initialised, because it is large
  while (!has_sent_end_ && stream_.queued() < kMostQueued) {
    const std::uint64_t room = wire::kFlowWindow - (to_init_ - consumed_);
    if (room == 0) return;
    const ssize_t count = ::recv(socket_.get(), bytes.data(),
                                 std::min<std::uint64_t>(bytes.size(), room), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      has_sent_end_ = true;
      stream_.queue(wire::FlowEnd{flow_});
      return;
    }
    to_init_ += static_cast<std::uint64_t>(count);
    stream_.queue(
        wire::FlowData{flow_, std::string(bytes.data(), static_cast<std::size_t>(count))});
  }
}

}  // namespace nutshell::egress
