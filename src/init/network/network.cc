#include "init/network/network.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/socket.h"
#include "init/network/network_tags.h"

namespace nutshell::init {
namespace {

constexpr int kMostRounds = 8;

}  // namespace

Network::~Network() {
  // The conversation is gone by now: connections end before the network does.
  host_ = nullptr;
}

Result<std::unique_ptr<Network>> Network::create(Setup setup) {
  std::unique_ptr<Network> network(new Network());
  TRY(network->prepare(std::move(setup)));
  return network;
}

Result<> Network::prepare(Setup setup) {
  note_refusal_ = std::move(setup.note_refusal);
  run_unrestricted_ = std::move(setup.run_unrestricted);
  events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return syscall_failure("epoll_create");
  std::tie(sender_, receiver_) = TRY(make_socket_pair(SocketKind::Packets));
  way_ = setup.way;
  auto names = NameServer::create(
      std::move(setup.name_datagrams), std::move(setup.name_listener),
      [this](std::uint32_t number, const NameQuery& query) {
        tell(wire::Resolve{number, query.name, static_cast<wire::RecordType>(query.type)});
      });
  if (names) {
    names_ = std::move(*names);
    if (!listen_to(names_->descriptor(), kNameKind, EPOLLIN)) return syscall_failure("epoll_ctl");
  }
  host_grace_ = Deadline::in(kHostTime);
  // Clients of a proxy need not look up names.
  if (way_ == wire::NetworkWay::Proxy) return open_proxy();
  if (!names) return Failure(std::move(names).error());
  junction_ = TRY(Junction::open());
  for (const int listener : {junction_->four(), junction_->six()}) {
    if (listener < 0) continue;
    if (!listen_to(listener, kListenerKind | static_cast<std::uint64_t>(listener), EPOLLIN)) {
      return syscall_failure("epoll_ctl");
    }
  }
  return {};
}

ConnectWatch Network::watch() {
  return {sender_.get(), [this](Mark mark) { add_watch(mark); }};
}

void Network::add_watch(Mark mark) {
  UniqueFd calls = take_watch(receiver_.get());
  if (!calls) return;
  const std::uint64_t number = ++last_watch_;
  // If it cannot be listened to, closing it makes all connects of that command fail.
  if (listen_to(calls.get(), kWatchKind | number, EPOLLIN)) {
    watches_.emplace(number, Watch{std::move(calls), mark});
  }
}

bool Network::listen_to(int descriptor, std::uint64_t tag, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// Needed before a descriptor is closed whose file others have too.
void Network::stop_listening(int descriptor) {
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

// ---- Events -------------------------------------------------------------------------------------

Deadline Network::deadline() const {
  Deadline next = names_ ? names_->deadline() : Deadline::never();
  if (!impatient_.empty()) next = earlier(next, impatient_.front().deadline);
  if (!joins_.empty()) next = earlier(next, joins_.front().deadline);
  if (!greetings_.empty()) next = earlier(next, greetings_.front().deadline);
  if (host_ == nullptr && !host_grace_.has_passed()) next = earlier(next, host_grace_);
  return next;
}

// Bounded, so that a flood of calls leaves time for init's other work.
void Network::progress() {
  std::array<epoll_event, 64> events{};
  for (int round = 0; round < kMostRounds; ++round) {
    const int count =
        ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      handle(event.data.u64, event.events);
    }
    if (count < static_cast<int>(events.size())) break;
  }
  if (names_) names_->progress();
  check_timers();
}

void Network::handle(std::uint64_t tag, std::uint32_t events) {
  const std::uint64_t number = tag & ~kKind;
  switch (tag & kKind) {
    case kWatchKind:
      // No process is left that has the filter.
      if ((events & EPOLLHUP) != 0) return drop_watch(number);
      return take_call(number);
    case kListenerKind:
      return accept_joined(static_cast<int>(number));
    case kProxyKind:
      return accept_client();
    case kFlowKind: {
      const auto found = flows_.find(static_cast<std::uint32_t>(number));
      if (found == flows_.end()) return;
      if (found->second.state == Flow::State::Direct) return finish_inside(found->first);
      if (found->second.client) return serve_client(found->first);
      if (!found->second.carrier) return;
      Carrier& carrier = *found->second.carrier;
      carrier.handle_events(events);
      if (const auto offset = carrier.due_consumption()) {
        tell(wire::FlowConsumed{found->first, *offset});
      }
      if (carrier.is_over() && !carrier.is_broken()) return erase(found);
      return queue(found->first, carrier);
    }
    default:
      return;  // names are looked at after every wait
  }
}

void Network::check_timers() {
  check_impatient();
  check_joins();
  check_greetings();
  if (host_ == nullptr && host_grace_.has_passed()) give_up_host();
}

// Timers of attempts that are over are dropped before their time, so that they wake no one.
void Network::check_impatient() {
  for (; !impatient_.empty(); impatient_.pop_front()) {
    const auto found = flows_.find(impatient_.front().flow);
    if (found == flows_.end()) continue;
    Flow& flow = found->second;
    if (flow.state != Flow::State::Direct && flow.state != Flow::State::Asked) continue;
    if (!impatient_.front().deadline.has_passed()) return;
    if (flow.state == Flow::State::Direct) {
      answer(*flow.attempt, EINPROGRESS);
      erase(found);
    } else if (host_ != nullptr) {
      join(found->first, flow);
    }
  }
}

void Network::check_joins() {
  for (; !joins_.empty(); joins_.pop_front()) {
    const auto found = flows_.find(joins_.front().flow);
    if (found == flows_.end() || found->second.state != Flow::State::Joining) continue;
    if (!joins_.front().deadline.has_passed()) return;
    answer(*found->second.attempt, ETIMEDOUT);
    drop(found->first, "the command's socket could not be connected to init");
  }
}

void Network::give_up_host() {
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    const auto next = std::next(flow);
    const Flow::State state = flow->second.state;
    if (state != Flow::State::Direct && state != Flow::State::Greeting) {
      constexpr const char* kReason = "the sandbox's network relay is not running";
      if (flow->second.attempt) refuse(*flow->second.attempt, ENETUNREACH, kReason);
      if (flow->second.client) refuse_client(flow->second, ENETUNREACH, true, kReason);
      erase(flow);
    }
    flow = next;
  }
  if (names_) names_->fail_all();
}

}  // namespace nutshell::init
