#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "init/network/network.h"
#include "init/network/network_tags.h"

namespace nutshell::init {
namespace {

constexpr std::chrono::seconds kGreetingTime{30};

bool send_whole(int socket, const std::string& bytes) {
  if (bytes.empty()) return true;
  const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return count == static_cast<ssize_t>(bytes.size());
}

}  // namespace

// -------------------------------------------------------------------------

Result<> Network::open_proxy() {
  auto [socket, port] = TRY(Junction::listen());
  proxy_ = std::move(socket);
  if (!listen_to(proxy_.get(), kProxyKind, EPOLLIN)) return syscall_failure("epoll_ctl");
  const std::string place = fmt::format("127.0.0.1:{}", port);
  for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"})
    variables_.push_back(fmt::format("{}=http://{}", name, place));
  for (const char* name : {"ALL_PROXY", "all_proxy"})
    variables_.push_back(fmt::format("{}=socks5h://{}", name, place));
  for (const char* name : {"NO_PROXY", "no_proxy"})
    variables_.push_back(fmt::format("{}=localhost,127.0.0.1,::1", name));
  return {};
}

void Network::accept_client() {
  constexpr int kMostAtOnce = 64;
  for (int i = 0; i < kMostAtOnce; ++i) {
    auto arrival = Junction::accept(proxy_.get());
    if (!arrival) return;
    if (flows_.size() >= kMostFlows || attempts_ >= kMostAttempts) continue;
    Flow flow;
    flow.state = Flow::State::Greeting;
    flow.client = std::make_unique<Client>();
    flow.client->socket = std::move(arrival->socket);
    const int descriptor = flow.client->socket.get();
    const std::uint32_t number = add_flow(std::move(flow));
    greetings_.push_back({Deadline::in(kGreetingTime), number});
    if (!listen_to(descriptor, kFlowKind | number, kChanges)) erase(flows_.find(number));
  }
}

void Network::serve_client(std::uint32_t number) {
  constexpr std::size_t kMostAtOnce = 16U << 10U;
  const auto found = flows_.find(number);
  Flow& flow = found->second;
  const int socket = flow.client->socket.get();
  std::array<char, kMostAtOnce> space{};
  while (flow.state == Flow::State::Greeting) {
    const ssize_t count = ::recv(socket, space.data(), space.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return erase(found);
    const auto step = flow.client->handshake.take({space.data(), static_cast<std::size_t>(count)});
    // A client that does not take these few bytes is broken.
    if (!send_whole(socket, flow.client->handshake.reply()) ||
        step == ProxyHandshake::Step::Failed) {
      return erase(found);
    }
    if (step == ProxyHandshake::Step::IsReady) {
      flow.state = Flow::State::Asked;
      ask(number, flow);
    }
  }
}

void Network::refuse_client(Flow& flow, int error_number, bool is_refusal,
                            const std::string& reason) {
  if (is_refusal) note_refusal_(ProcessMarks::kAnyMark, reason);
  (void)send_whole(flow.client->socket.get(),
                   flow.client->handshake.failure(error_number, is_refusal, reason));
}

void Network::open_client(std::uint32_t number, const wire::FlowOpened& opened) {
  const auto found = flows_.find(number);
  Flow& flow = found->second;
  if (opened.error_number != 0) {
    refuse_client(flow, opened.error_number, opened.is_refusal != 0, opened.reason);
    return erase(found);
  }
  const int socket = flow.client->socket.get();
  if (!send_whole(socket, flow.client->handshake.success())) {
    return drop(number, "the client is gone");
  }
  if (has_door_) tell(wire::FlowJoined{number});
  flow.state = Flow::State::Carried;
  flow.is_opened = true;
  flow.carrier = std::make_unique<Carrier>(std::move(flow.client->socket),
                                           flow.client->handshake.first_bytes());
  flow.client.reset();
  --attempts_;
  // Tells again of what happened while nobody was interested.
  epoll_event event{};
  event.events = kChanges;
  event.data.u64 = kFlowKind | number;
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_MOD, socket, &event);
  queue(number, *flow.carrier);
}

void Network::check_greetings() {
  for (; !greetings_.empty(); greetings_.pop_front()) {
    const auto found = flows_.find(greetings_.front().flow);
    if (found == flows_.end() || found->second.state != Flow::State::Greeting) continue;
    if (!greetings_.front().deadline.has_passed()) return;
    erase(found);
  }
}

}  // namespace nutshell::init
