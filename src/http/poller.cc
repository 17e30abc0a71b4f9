#include "http/poller.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "http/precedence.h"
#include "http/signals_blocked.h"

namespace nutshell::http {
namespace {

using RequestState = Connection::RequestState;

constexpr int kLookAroundMs = 250;  // how late a deadline may be noticed
// Connections that still get an answer when there are too many.
constexpr std::size_t kMostRefused = 64;

// The error code of the API for this status.
std::string_view word_for(int status) {
  if (status == 408) return to_string(ErrorCode::DeadlineExceeded);
  if (status == 413) return to_string(ErrorCode::TooLarge);
  if (status == 429) return to_string(ErrorCode::ResourceExhausted);
  if (status >= 500 && status != 501) return to_string(ErrorCode::Unavailable);
  return to_string(ErrorCode::InvalidArgument);
}

void tune(int socket) {
  const int yes = 1;
  // Both calls fail on a Unix socket, which does not need them.
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

}  // namespace

Result<std::unique_ptr<Poller>> Poller::create(Endpoint endpoint, const ServerLimits& limits,
                                               Dispatch dispatch, std::function<void()> look) {
  std::unique_ptr<Poller> poller(
      new Poller(std::move(endpoint), limits, std::move(dispatch), std::move(look)));
  TRY(poller->prepare());
  return poller;
}

void Poller::start() {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Result<> Poller::watch(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return syscall_failure("epoll_ctl");
  }
  return {};
}

Result<> Poller::prepare() {
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_) return syscall_failure("epoll_create1");
  TRY(watch(wake_.get()));
  TRY(set_nonblocking(endpoint_.listener.get()));
  return watch(endpoint_.listener.get());
}

Poller::~Poller() {
  end();
}

void Poller::end() {
  is_ending_ = true;
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void Poller::hold(std::unique_ptr<Connection> connection) {
  returned_.with([&](auto& returned) { returned.push_back(std::move(connection)); });
  ::eventfd_write(wake_.get(), 1);
}

void Poller::stop_accepting() {
  is_accepting_ = false;
  ::eventfd_write(wake_.get(), 1);
}

void Poller::run() {
  Precedence precedence;  // this thread does little work, and all clients wait for it
  std::array<epoll_event, 64> events{};
  auto next_look = Clock::now() + std::chrono::milliseconds(kLookAroundMs);
  while (!is_ending_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), kLookAroundMs);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == wake_.get()) {
        take_returned();
      } else {
        advance(descriptor);
      }
    }
    if (!is_accepting_) forget_listener();
    if (Clock::now() < next_look) continue;
    drop_late();
    look_();
    precedence.look();
    next_look = Clock::now() + std::chrono::milliseconds(kLookAroundMs);
  }
}

void Poller::take_returned() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  auto returned = returned_.with([](auto& waiting) { return std::exchange(waiting, {}); });
  for (auto& connection : returned)
    consider(std::move(connection));
}

void Poller::advance(int descriptor) {
  if (endpoint_.listener.get() == descriptor) return accept_all();
  const auto found = waiting_.find(descriptor);
  if (found == waiting_.end()) return;
  consider(std::move(found->second.connection));
}

void Poller::accept_all() {
  constexpr int kAtOnce = 64;  // then other events get their turn
  for (int i = 0; i < kAtOnce; ++i) {
    UniqueFd socket(::accept4(endpoint_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) {
      begin(std::move(socket));
      continue;
    }
    // Out of descriptors: the connection stays in the backlog, so wait a little to avoid spinning.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return;
  }
}

void Poller::begin(UniqueFd socket) {
  tune(socket.get());
  Remote remote = remote_of(socket.get());
  auto transport = endpoint_.make_transport(std::move(socket));
  if (!transport) return;
  auto connection =
      std::make_unique<Connection>(std::move(*transport), std::move(remote), limits_, places_);
  if (has_place_for(connection->group())) return consider(std::move(connection));
  // Answering keeps a descriptor open a little longer, so a flood of connections gets no answer.
  if (places_.total() > limits_.connections + kMostRefused) {
    ++refused;
    return;
  }
  answer_refusal(std::move(connection), {503, "too many connections"});
}

bool Poller::has_place_for(const std::string& group) {
  const bool is_stranger = group.starts_with(kStrangerGroup);
  if (is_stranger && places_.of(group) > limits_.connections_of_stranger) {
    if (!make_room(group, kStrangerGroup)) return false;
  }
  if (places_.total() <= limits_.connections) return true;
  return make_room(places_.largest(kStrangerGroup), kStrangerGroup) ||
         make_room(places_.largest(kTenantGroup), kTenantGroup);
}

// Drops idle connections of the group, the oldest first. Drops several at once, so that a flood
// does not cost a scan of all connections for each new one. Returns false if there was none to
// drop.
bool Poller::make_room(const std::string& group, const std::string& prefix) {
  if (group.empty()) return false;
  const bool are_strangers = prefix == kStrangerGroup;
  std::vector<std::pair<Clock::time_point, int>> idle;
  for (const auto& [descriptor, waiting] : waiting_) {
    if (!waiting.connection) continue;  // a caller of this function has taken it out
    const Connection& one = *waiting.connection;
    // A stranger may be dropped in the middle of a head; a tenant's request that has begun may go
    // on.
    const bool can_end = are_strangers || !one.is_in_request();
    if (can_end && one.group() == group) idle.emplace_back(one.idle_since(), descriptor);
  }
  const std::size_t count = std::min(idle.size(), std::max<std::size_t>(1, idle.size() / 16));
  std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(count), idle.end());
  for (std::size_t i = 0; i < count; ++i)
    drop(std::move(waiting_.at(idle[i].second).connection));
  return count > 0;
}

void Poller::consider(std::unique_ptr<Connection> connection) {
  const bool is_unwanted = !is_accepting_ && !connection->is_in_request();
  if (is_unwanted && !connection->is_lingering()) return drop(std::move(connection));
  switch (connection->advance()) {
    case RequestState::WantsRead:
      return keep_watching(std::move(connection), EPOLLIN);
    case RequestState::WantsWrite:
      return keep_watching(std::move(connection), EPOLLOUT);
    case RequestState::Gone:
      return drop(std::move(connection));
    case RequestState::Refused: {
      const Refusal refusal = connection->refusal();
      return answer_refusal(std::move(connection), refusal);
    }
    case RequestState::Request:
      break;
  }
  const int descriptor = connection->transport().descriptor();
  if (waiting_.erase(descriptor) > 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
  if (connection->admission().caller_kind == CallerKind::Tenant &&
      places_.of(connection->group()) > limits_.connections_of_tenant &&
      !make_room(connection->group(), kTenantGroup)) {
    return answer_refusal(std::move(connection), {429, "too many connections of this tenant"});
  }
  connection = dispatch_(std::move(connection));
  if (!connection) return;
  const bool is_tenant = connection->admission().caller_kind == CallerKind::Tenant;
  answer_refusal(std::move(connection), is_tenant ? Refusal{429, "too many requests at once"}
                                                  : Refusal{503, "the server is too busy"});
}

void Poller::keep_watching(std::unique_ptr<Connection> connection, std::uint32_t events) {
  const int descriptor = connection->transport().descriptor();
  const auto [found, is_new] = waiting_.try_emplace(descriptor);
  Waiting& waiting = found->second;
  waiting.connection = std::move(connection);
  if (!is_new && waiting.events == events) return;
  waiting.events = events;
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) != 0) {
    drop(std::move(waiting.connection));
  }
}

void Poller::answer_refusal(std::unique_ptr<Connection> connection, const Refusal& refusal) {
  ++refused;
  const std::string body =
      fmt::format(R"({{"type":"about:blank","title":"{}","status":{},"code":"{}","detail":"{}"}})",
                  reason_of(refusal.status), refusal.status, word_for(refusal.status), refusal.why);
  const std::string answer = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
      "Content-Length: {}\r\n\r\n{}",
      refusal.status, reason_of(refusal.status), body.size(), body);
  // The answer fits into any socket's buffer, unless the client does not read its answers.
  (void)connection->transport().write_some(answer);
  connection->begin_lingering();
  consider(std::move(connection));
}

void Poller::drop(std::unique_ptr<Connection> connection) {
  const int descriptor = connection->transport().descriptor();
  // The destructor closes the descriptor, which also removes it from epoll.
  waiting_.erase(descriptor);
}

void Poller::drop_late() {
  std::vector<int> late;
  for (const auto& [descriptor, waiting] : waiting_) {
    if (waiting.connection->deadline().has_passed()) late.push_back(descriptor);
  }
  for (const int descriptor : late) {
    auto connection = std::move(waiting_.at(descriptor).connection);
    if (connection->is_in_request() && !connection->is_lingering()) {
      answer_refusal(std::move(connection), {408, "the request did not arrive in time"});
    } else {
      drop(std::move(connection));
    }
  }
}

void Poller::forget_listener() {
  if (!has_listener_) return;
  has_listener_ = false;
  endpoint_.listener.reset();
  std::vector<std::unique_ptr<Connection>> unwanted;
  for (auto& [descriptor, waiting] : waiting_) {
    const Connection& one = *waiting.connection;
    if (!one.is_in_request() && !one.is_lingering())
      unwanted.push_back(std::move(waiting.connection));
  }
  for (auto& connection : unwanted)
    drop(std::move(connection));
}

}  // namespace nutshell::http
