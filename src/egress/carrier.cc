#include "egress/carrier.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace nutshell::egress {
namespace {

constexpr std::size_t kShare = 1U << 20U;  // bytes of one way before others get their turn

}  // namespace

void break_on_close(int socket) {
  const linger at_once{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

Carrier::~Carrier() {
  for (const EventLoop::Watch watch : watches_)
    loop_.forget(watch);
  if (timer_) loop_.forget_timer(*timer_);
}

Result<> Carrier::begin(UniqueFd client, UniqueFd server, TakeEnd take_end) {
  sockets_ = {std::move(client), std::move(server)};
  take_end_ = std::move(take_end);
  for (std::size_t side = 0; side < 2; ++side)
    TRY(watch(side, EPOLLIN));
  return {};
}

// A socket from which nothing is wanted is not watched, because the kernel would report again and
// again that it hung up.
Result<> Carrier::watch(std::size_t side, std::uint32_t events) {
  EventLoop::Watch& watch = watches_.at(side);
  if (events == 0) {
    loop_.forget(std::exchange(watch, 0));
  } else if (watch != 0) {
    loop_.change(watch, events);
  } else {
    watch = TRY(loop_.watch(sockets_.at(side).get(), events,
                            [this, side](std::uint32_t ready) { on_event(side, ready); }));
  }
  return {};
}

void Carrier::reset() {
  for (const UniqueFd& socket : sockets_) {
    if (socket) break_on_close(socket.get());
  }
}

void Carrier::on_event(std::size_t side, std::uint32_t events) {
  const std::size_t reading = side;
  const std::size_t writing = 1 - side;
  bool is_whole = true;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) is_whole = carry(reading);
  if (is_whole && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) is_whole = carry(writing);
  if (is_over_allowance_) return end({.is_broken = true, .is_over_allowance = true});
  if (!is_whole) return end({.is_broken = true});
  if (ways_[0].is_passed_on && ways_[1].is_passed_on) return end({});
  update();
}

bool Carrier::carry(std::size_t number) {
  Way& way = ways_.at(number);
  std::size_t share = kShare;
  for (;;) {
    Step step = write_pending(number);
    if (step == Step::Broken) return false;
    if (step == Step::Blocked) return true;
    if (way.has_ended) return pass_end(number);
    if (share == 0) return true;  // the event comes again
    const auto count = read_some(number, step);
    if (!count) return step != Step::Broken;
    share -= std::min(share, *count);
  }
}

std::optional<std::size_t> Carrier::read_some(std::size_t number, Step& step) {
  Way& way = ways_.at(number);
  step = Step::Blocked;
  if (allowance_.is_spent()) {
    is_over_allowance_ = true;
    return std::nullopt;
  }
  if (allowance_.wait() > Clock::duration::zero()) {
    pause();
    return std::nullopt;
  }
  const ssize_t count = ::recv(source(number).get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (count < 0 && errno != EAGAIN && errno != EINTR) step = Step::Broken;
  if (count < 0) return std::nullopt;
  if (count == 0) {
    way.has_ended = true;
    step = pass_end(number) ? Step::Done : Step::Broken;
    return std::nullopt;
  }
  const auto bytes = static_cast<std::size_t>(count);
  allowance_.take(bytes);
  way.bytes += bytes;
  std::size_t written = 0;
  while (written < bytes) {
    const ssize_t sent = ::send(target(number).get(), buffer_.data() + written, bytes - written,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      step = Step::Broken;
      return std::nullopt;
    }
    written += static_cast<std::size_t>(sent);
  }
  way.pending.assign(buffer_.data() + written, bytes - written);
  return bytes;
}

Carrier::Step Carrier::write_pending(std::size_t number) {
  Way& way = ways_.at(number);
  while (way.written < way.pending.size()) {
    const ssize_t count = ::send(target(number).get(), way.pending.data() + way.written,
                                 way.pending.size() - way.written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN ? Step::Blocked : Step::Broken;
    way.written += static_cast<std::size_t>(count);
  }
  if (way.written > 0) way.pending = std::string();  // its memory too: most connections are idle
  way.written = 0;
  return Step::Done;
}

bool Carrier::pass_end(std::size_t number) {
  Way& way = ways_.at(number);
  if (!way.is_passed_on && way.pending.empty()) {
    way.is_passed_on = true;
    // ENOTCONN: the other side is gone already.
    if (::shutdown(target(number).get(), SHUT_WR) != 0 && errno != ENOTCONN) return false;
  }
  return true;
}

void Carrier::update() {
  for (std::size_t side = 0; side < 2; ++side) {
    const Way& reading = ways_.at(side);
    const Way& writing = ways_.at(1 - side);
    std::uint32_t events = 0;
    if (!reading.has_ended && reading.pending.empty() && !timer_) events |= EPOLLIN;
    if (!writing.pending.empty()) events |= EPOLLOUT;
    if (!watch(side, events)) return end({.is_broken = true});
  }
}

void Carrier::pause() {
  if (timer_) return;
  const auto moment = Clock::now() + allowance_.wait() + std::chrono::milliseconds(1);
  timer_ = loop_.call_at(moment, [this] {
    timer_.reset();
    update();
  });
}

void Carrier::end(const End& end) {
  const TakeEnd take = std::exchange(take_end_, nullptr);
  if (end.is_broken) reset();
  if (take) take(end);
}

}  // namespace nutshell::egress
