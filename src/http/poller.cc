#include "http/poller.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/file.h"
#include "http/precedence.h"

namespace nutshell::http {
namespace {

using Intake = Connection::Intake;

constexpr int kLookAroundMs = 250;  // how late a deadline may be noticed

// Our word for it, as the problem documents of the API have it.
std::string_view word_for(int status) {
  if (status == 408) return to_string(ErrorCode::DeadlineExceeded);
  if (status >= 500 && status != 501) return to_string(ErrorCode::Unavailable);
  return to_string(ErrorCode::InvalidArgument);
}

Remote remote_of(int socket) {
  Remote remote;
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&bytes), &size) != 0) return remote;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes.ss_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&bytes);
    ::inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
    remote.address = fmt::format("{}:{}", text.data(), ntohs(four->sin_port));
  } else if (bytes.ss_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&bytes);
    ::inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    remote.address = fmt::format("[{}]:{}", text.data(), ntohs(six->sin6_port));
  } else if (auto peer = peer_of(socket)) {
    remote.process = *peer;
  }
  return remote;
}

void tune(int socket) {
  const int yes = 1;
  // Both fail on a Unix socket, which needs neither.
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

}  // namespace

Result<std::unique_ptr<Poller>> Poller::create(std::vector<Endpoint> endpoints,
                                               const ServerLimits& limits, Dispatch dispatch) {
  std::unique_ptr<Poller> poller(new Poller(std::move(endpoints), limits, std::move(dispatch)));
  TRY(poller->prepare());
  return poller;
}

void Poller::start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Result<> Poller::prepare() {
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_) return syscall_failure("epoll_create1");
  const auto watch = [&](int descriptor) -> Result<> {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
      return syscall_failure("epoll_ctl");
    }
    return {};
  };
  TRY(watch(wake_.get()));
  for (const Endpoint& endpoint : endpoints_) {
    TRY(set_nonblocking(endpoint.listener.get()));
    TRY(watch(endpoint.listener.get()));
  }
  return {};
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
  Precedence precedence;  // it has little to do, and everybody waits for it
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
    if (!is_accepting_) forget_listeners();
    if (Clock::now() < next_look) continue;
    drop_late();
    precedence.look();
    next_look = Clock::now() + std::chrono::milliseconds(kLookAroundMs);
  }
}

void Poller::take_returned() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  auto returned = returned_.with([](auto& held) { return std::exchange(held, {}); });
  for (auto& connection : returned)
    consider(std::move(connection));
}

void Poller::advance(int descriptor) {
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.listener.get() == descriptor) return accept_all(endpoint);
  }
  const auto found = held_.find(descriptor);
  if (found == held_.end()) return;
  consider(std::move(found->second.connection));
}

void Poller::accept_all(const Endpoint& endpoint) {
  constexpr int kAtOnce = 64;  // then the others have their turn
  for (int i = 0; i < kAtOnce; ++i) {
    UniqueFd socket(::accept4(endpoint.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) {
      begin(std::move(socket), endpoint);
      continue;
    }
    // Out of descriptors: the connection stays in the queue, and this thread must not spin on it.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return;
  }
}

void Poller::begin(UniqueFd socket, const Endpoint& endpoint) {
  tune(socket.get());
  Remote remote = remote_of(socket.get());
  auto transport = endpoint.make_transport(std::move(socket));
  if (!transport) return;
  auto connection = std::make_unique<Connection>(std::move(*transport), std::move(remote), limits_);
  if (++connections > limits_.connections) {
    return answer_refusal(std::move(connection), {503, "too many connections"});
  }
  consider(std::move(connection));
}

void Poller::consider(std::unique_ptr<Connection> connection) {
  const bool is_unwanted = !is_accepting_ && !connection->is_in_request();
  if (is_unwanted && !connection->is_lingering()) return drop(std::move(connection));
  switch (connection->advance()) {
    case Intake::WantsRead:
      return keep_watching(std::move(connection), EPOLLIN);
    case Intake::WantsWrite:
      return keep_watching(std::move(connection), EPOLLOUT);
    case Intake::Gone:
      return drop(std::move(connection));
    case Intake::Refused: {
      const Refusal refusal = connection->refusal();
      return answer_refusal(std::move(connection), refusal);
    }
    case Intake::Request:
      break;
  }
  const int descriptor = connection->transport().descriptor();
  if (held_.erase(descriptor) > 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
  connection = dispatch_(std::move(connection));
  if (connection) answer_refusal(std::move(connection), {503, "the server is too busy"});
}

void Poller::keep_watching(std::unique_ptr<Connection> connection, std::uint32_t events) {
  const int descriptor = connection->transport().descriptor();
  const auto [found, is_new] = held_.try_emplace(descriptor);
  Held& held = found->second;
  held.connection = std::move(connection);
  if (!is_new && held.events == events) return;
  held.events = events;
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) != 0) {
    drop(std::move(held.connection));
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
  // Short enough for any socket's buffer; who has filled that reads no answers.
  (void)connection->transport().write_some(answer);
  connection->begin_lingering();
  consider(std::move(connection));
}

void Poller::drop(std::unique_ptr<Connection> connection) {
  const int descriptor = connection->transport().descriptor();
  held_.erase(descriptor);
  --connections;  // its destructor closes the descriptor, and so ends the watching
}

void Poller::drop_late() {
  std::vector<int> late;
  for (const auto& [descriptor, held] : held_) {
    if (held.connection->deadline().has_passed()) late.push_back(descriptor);
  }
  for (const int descriptor : late) {
    auto connection = std::move(held_.at(descriptor).connection);
    if (connection->is_in_request() && !connection->is_lingering()) {
      answer_refusal(std::move(connection), {408, "the request did not arrive in time"});
    } else {
      drop(std::move(connection));
    }
  }
}

void Poller::forget_listeners() {
  if (!has_listeners_) return;
  has_listeners_ = false;
  for (Endpoint& endpoint : endpoints_)
    endpoint.listener.reset();
  std::vector<std::unique_ptr<Connection>> unwanted;
  for (auto& [descriptor, held] : held_) {
    const Connection& one = *held.connection;
    if (!one.is_in_request() && !one.is_lingering()) unwanted.push_back(std::move(held.connection));
  }
  for (auto& connection : unwanted)
    drop(std::move(connection));
}

}  // namespace nutshell::http
