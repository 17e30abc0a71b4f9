#include "init/network/carrier.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "wire/frame.h"
#include "wire/network_schema.h"

namespace nutshell::init {
namespace {

constexpr std::uint64_t kTellEvery = wire::kFlowWindow / 4;

}  // namespace

void Carrier::handle_events(std::uint32_t events) {
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) is_readable_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) has_hung_up_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) write_out();
}

Result<> Carrier::pass_on(std::string_view bytes) {
  if (has_host_ended_ || bytes.size() > wire::kMostData) {
    return failure(ErrorCode::Corrupt, "bytes of a flow after its end, or too many at once");
  }
  if (outgoing_.size() - written_ + bytes.size() > wire::kFlowWindow) {
    return failure(ErrorCode::Corrupt, "more bytes of a flow than the window allows");
  }
  if (is_broken_) return {};
  if (written_ > wire::kFlowWindow) {
    outgoing_.erase(0, written_);
    written_ = 0;
  }
  outgoing_ += bytes;
  write_out();
  return {};
}

void Carrier::end() {
  has_host_ended_ = true;
  write_out();
}

Result<> Carrier::consumed(std::uint64_t offset) {
  if (offset < consumed_ || offset > sent_) {
    return failure(ErrorCode::Corrupt, "bytes of a flow were consumed that were not sent");
  }
  consumed_ = offset;
  return {};
}

void Carrier::reset() {
  constexpr linger kAtOnce{1, 0};
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
  is_broken_ = true;
}

void Carrier::write_out() {
  while (!is_broken_ && written_ < outgoing_.size()) {
    const ssize_t count = ::send(socket_.get(), outgoing_.data() + written_,
                                 outgoing_.size() - written_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {
      is_broken_ = true;
      return;
    }
    written_ += static_cast<std::size_t>(count);
    passed_ += static_cast<std::uint64_t>(count);
  }
  outgoing_.clear();
  written_ = 0;
  if (has_host_ended_ && !has_shut_) {
    (void)::shutdown(socket_.get(), SHUT_WR);  // fails if the command has reset it
    has_shut_ = true;
  }
}

bool Carrier::may_read() const {
  if (is_broken_) return true;  // the host is told
  return (is_readable_ || !first_.empty()) && !has_read_end_ &&
         sent_ - consumed_ < wire::kFlowWindow;
}

Carrier::Step Carrier::read(std::string& bytes) {
  if (is_broken_) return Step::Broken;
  const std::uint64_t room = wire::kFlowWindow - (sent_ - consumed_);
  const std::size_t most = std::min<std::uint64_t>(room, wire::kMostData);
  if (!first_.empty()) {
    bytes = first_.substr(0, most);
    first_.erase(0, bytes.size());
    sent_ += bytes.size();
    return Step::Data;
  }
  bytes.resize(most);
  ssize_t count = 0;
  do {
    count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) {
    is_readable_ = false;
    return Step::Nothing;
  }
  if (count < 0) {
    is_broken_ = true;
    return Step::Broken;
  }
  if (count == 0) {
    has_read_end_ = true;
    return Step::End;
  }
  // Less than asked for: nothing is left, and epoll tells of more.
  if (static_cast<std::size_t>(count) < bytes.size() && !has_hung_up_) is_readable_ = false;
  bytes.resize(static_cast<std::size_t>(count));
  sent_ += static_cast<std::uint64_t>(count);
  return Step::Data;
}

std::optional<std::uint64_t> Carrier::due_consumption() {
  if (passed_ - told_ < kTellEvery) return std::nullopt;
  told_ = passed_;
  return told_;
}

}  // namespace nutshell::init
