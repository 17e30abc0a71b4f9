#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/socket.h"
#include "init/network/caller.h"
#include "init/network/network.h"
#include "init/network/network_tags.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

// A program with a non-blocking socket has other work: it gets a connection before the host has
// decided, and if the host refuses, the connection breaks.
constexpr auto kPatience = 1s;
constexpr auto kJoinTime = 5s;

int option_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// A socket of TCP that is neither connected nor listening.
bool may_connect(int socket) {
  if (option_of(socket, SO_TYPE) != SOCK_STREAM || option_of(socket, SO_PROTOCOL) != IPPROTO_TCP) {
    return false;
  }
  SocketAddress peer;
  return option_of(socket, SO_ACCEPTCONN) == 0 &&
         ::getpeername(socket, peer.pointer(), &peer.size) != 0;
}

bool is_non_blocking(int socket) {
  return (::fcntl(socket, F_GETFL) & O_NONBLOCK) != 0;
}

// Copies of the address and the socket that a call to connect() names.
struct Look {
  std::optional<Target> target;
  UniqueFd socket;
  int error = 0;  // why the socket, or the address, could not be had
};

Look look_into(pid_t thread, const seccomp_data& call) {
  Look look;
  const std::uint64_t size = std::min<std::uint64_t>(call.args[2], sizeof(sockaddr_in6));
  errno = 0;
  look.target = parse_target(copy_memory(thread, call.args[1], size));
  if (look.target) look.socket = take_descriptor(thread, static_cast<int>(call.args[0]));
  if (!look.socket) look.error = errno;
  return look;
}

}  // namespace

void Network::take_call(std::uint64_t number) {
  const auto found = watches_.find(number);
  if (found == watches_.end()) return;
  seccomp_notif call{};
  // The command was killed meanwhile, perhaps.
  if (::ioctl(found->second.calls.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  Attempt attempt;
  attempt.watch = number;
  attempt.call = call.id;
  attempt.mark = found->second.mark;
  const auto thread = static_cast<pid_t>(call.pid);
  Look look = look_into(thread, call.data);
  const bool is_forbidden = look.error == EPERM || look.error == EACCES;
  if (is_forbidden && run_unrestricted_) {
    run_unrestricted_([&] { look = look_into(thread, call.data); });
  }
  if (!look.target) return pass_to_kernel(attempt);
  attempt.target = *look.target;
  attempt.socket = std::move(look.socket);
  // All that was read belongs to this call if the call is still held.
  if (!is_pending(attempt)) return;
  if (look.error == EMFILE) return answer(attempt, ENFILE);
  if (!attempt.socket || !may_connect(attempt.socket.get())) return pass_to_kernel(attempt);
  if (flows_.size() >= kMostFlows || attempts_ >= kMostAttempts) return answer(attempt, ENOBUFS);
  begin(std::move(attempt));
}

void Network::drop_watch(std::uint64_t number) {
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    const auto next = std::next(flow);
    const auto& attempt = flow->second.attempt;
    if (attempt && !attempt->is_answered && attempt->watch == number) {
      drop(flow->first, "the command is gone");
    }
    flow = next;
  }
  watches_.erase(number);
}

bool Network::is_pending(const Attempt& attempt) const {
  const auto watch = watches_.find(attempt.watch);
  return watch != watches_.end() &&
         ::ioctl(watch->second.calls.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &attempt.call) == 0;
}

void Network::answer(Attempt& attempt, int error_number) {
  if (std::exchange(attempt.is_answered, true)) return;
  const auto watch = watches_.find(attempt.watch);
  if (watch == watches_.end()) return;
  seccomp_notif_resp response{};
  response.id = attempt.call;
  response.error = -error_number;
  // Fails if the command was killed.
  (void)::ioctl(watch->second.calls.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
}

// Lets the kernel do the call as if there were no filter. It reads the address again, which another
// thread may have changed since; but all that the kernel can do here is to reach sockets of this
// sandbox. So this is right for every call that the host need not see: Unix sockets, whose paths
// only the caller can resolve, datagrams, ends of associations, and calls with mistakes.
void Network::pass_to_kernel(const Attempt& attempt) {
  const auto watch = watches_.find(attempt.watch);
  if (watch == watches_.end()) return;
  seccomp_notif_resp response{};
  response.id = attempt.call;
  response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  (void)::ioctl(watch->second.calls.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void Network::begin(Attempt attempt) {
  attempt.may_not_wait = is_non_blocking(attempt.socket.get());
  if (attempt.target.is_loopback()) return connect_inside(std::move(attempt));
  Flow flow;
  flow.attempt = std::move(attempt);
  const std::uint32_t number = add_flow(std::move(flow));
  ask(number, flows_[number]);
}

// A server inside comes first. Where none listens the host decides, because its own loopback
// addresses can be allowed.
void Network::connect_inside(Attempt attempt) {
  const int error = connect_at_once(attempt.socket.get(), attempt.target.as_given);
  if (error != EINPROGRESS && error != ECONNREFUSED) return answer(attempt, error);
  Flow flow;
  flow.attempt = std::move(attempt);
  flow.state = error == EINPROGRESS ? Flow::State::Direct : Flow::State::Asked;
  const std::uint32_t number = add_flow(std::move(flow));
  Flow& added = flows_[number];
  if (added.state == Flow::State::Asked) return ask(number, added);
  // The server's queue is full. The kernel goes on trying, and tells.
  if (added.attempt->may_not_wait) impatient_.push_back({Deadline::in(kPatience), number});
  if (!listen_to(added.attempt->socket.get(), kFlowKind | number, EPOLLOUT)) {
    answer(*added.attempt, ENOBUFS);
    erase(flows_.find(number));
  }
}

void Network::finish_inside(std::uint32_t number) {
  const auto found = flows_.find(number);
  Flow& flow = found->second;
  const int error = option_of(flow.attempt->socket.get(), SO_ERROR);
  if (error == ECONNREFUSED) {
    stop_listening(flow.attempt->socket.get());
    flow.state = Flow::State::Asked;
    return ask(number, flow);
  }
  answer(*flow.attempt, error < 0 ? ECONNREFUSED : error);
  erase(found);
}

std::uint32_t Network::add_flow(Flow flow) {
  do {
    ++last_flow_;
  } while (last_flow_ == 0 || flows_.contains(last_flow_));
  flows_.emplace(last_flow_, std::move(flow));
  ++attempts_;
  return last_flow_;
}

void Network::ask(std::uint32_t number, Flow& flow) {
  if (flow.attempt && flow.attempt->may_not_wait) {
    impatient_.push_back({Deadline::in(kPatience), number});
  }
  tell(question_of(number, flow));  // a host that is not there is asked as soon as it is
}

wire::OpenFlow Network::question_of(std::uint32_t number, const Flow& flow) {
  if (flow.attempt) return {number, flow.attempt->target.address, {}, flow.attempt->target.port};
  const ProxyHandshake& wanted = flow.client->handshake;
  return {number, wanted.address(), wanted.name(), wanted.port()};
}

void Network::refuse(Attempt& attempt, int error_number, const std::string& reason) {
  if (!reason.empty()) note_refusal_(attempt.mark, reason);
  answer(attempt, error_number);
}

// ---- From the decision to the bytes
// ---------------------------------------------------------------

// ---------------------------------------------------------------

void Network::join(std::uint32_t number, Flow& flow) {
  Attempt& attempt = *flow.attempt;
  if (!is_pending(attempt)) return drop(number, "the command is gone");
  const int error = junction_->connect(attempt.socket.get(), attempt.target);
  if (error != 0 && error != EINPROGRESS) {
    answer(attempt, error);
    return drop(number, fmt::format("the command's socket cannot be connected: {}",
                                    ::strerrordesc_np(error)));
  }
  flow.state = Flow::State::Joining;
  attempt.name = Junction::name_of(attempt.socket.get());
  joining_[attempt.name] = number;
  joins_.push_back({Deadline::in(kJoinTime), number});
  // Most often the connection is there already.
  for (const int listener : {junction_->four(), junction_->six()}) {
    if (listener >= 0) accept_joined(listener);
  }
}

void Network::accept_joined(int listener) {
  constexpr int kMostAtOnce = 64;
  for (int i = 0; i < kMostAtOnce; ++i) {
    auto arrival = Junction::accept(listener);
    if (!arrival) return;
    const auto found = joining_.find(arrival->peer);
    // Anything else was connected by a command itself, and is closed.
    if (found == joining_.end()) continue;
    const std::uint32_t number = found->second;
    joining_.erase(found);
    become_joined(number, std::move(arrival->socket));
  }
}

void Network::become_joined(std::uint32_t number, UniqueFd socket) {
  Flow& flow = flows_.at(number);
  flow.attempt->name.clear();
  flow.joined = std::move(socket);
  flow.state = Flow::State::Joined;
  if (flow.is_opened) return start_carrying(number, flow);
  answer(*flow.attempt, 0);
  flow.attempt->socket.reset();
}

void Network::start_carrying(std::uint32_t number, Flow& flow) {
  const bool is_handed_over = has_door_ && hand_over(number, flow.joined.get());
  if (has_door_ && !is_handed_over) tell(wire::FlowJoined{number});
  answer(*flow.attempt, 0);
  flow.attempt.reset();
  --attempts_;
  if (is_handed_over) {
    flow.joined.reset();
    flow.state = Flow::State::HandedOver;
    return;
  }
  flow.state = Flow::State::Carried;
  flow.carrier = std::make_unique<Carrier>(std::move(flow.joined));
  if (!listen_to(flow.carrier->descriptor(), kFlowKind | number, kChanges)) {
    return drop(number, "init has no room for another connection");
  }
  queue(number, *flow.carrier);
}

bool Network::hand_over(std::uint32_t number, int socket) {
  std::string packet(sizeof number, '\0');
  std::memcpy(packet.data(), &number, sizeof number);
  return try_send_packet(door_.get(), packet, {socket}).value_or(false);
}

void Network::queue(std::uint32_t number, Carrier& carrier) {
  if (carrier.is_queued || !carrier.may_read()) return;
  carrier.is_queued = true;
  readable_.push_back(number);
}

// Flows take turns.
bool Network::next_bytes(std::string& frame) {
  while (!readable_.empty()) {
    const std::uint32_t number = readable_.front();
    readable_.pop_front();
    const auto found = flows_.find(number);
    if (found == flows_.end() || !found->second.carrier) continue;
    Carrier& carrier = *found->second.carrier;
    carrier.is_queued = false;
    if (!carrier.may_read()) continue;
    wire::FlowData data{number, {}};
    const Carrier::Step step = carrier.read(data.bytes);
    if (step == Carrier::Step::Nothing) continue;
    frame.clear();
    if (step == Carrier::Step::Data) {
      wire::append_frame(frame, host_->number(), std::move(data));
      queue(number, carrier);
    } else if (step == Carrier::Step::End) {
      wire::append_frame(frame, host_->number(), wire::FlowEnd{number});
    } else {
      wire::append_frame(frame, host_->number(),
                         wire::FlowReset{number, "the command broke the connection", 0});
    }
    if (carrier.is_over()) erase(found);
    return true;
  }
  return false;
}

// Ends a flow that the host may know of.
void Network::drop(std::uint32_t number, const std::string& reason) {
  const auto found = flows_.find(number);
  if (found == flows_.end()) return;
  Flow& flow = found->second;
  if (flow.attempt) answer(*flow.attempt, ECONNRESET);
  if (flow.joined) Carrier(std::move(flow.joined)).reset();
  if (flow.carrier) flow.carrier->reset();
  if (flow.state != Flow::State::Direct && flow.state != Flow::State::Greeting) {
    tell(wire::FlowReset{number, reason, 0});
  }
  erase(found);
}

void Network::erase(Flows::iterator flow) {
  if (flow->second.client) --attempts_;
  if (flow->second.attempt) {
    Attempt& attempt = *flow->second.attempt;
    --attempts_;
    if (!attempt.name.empty()) joining_.erase(attempt.name);
    if (flow->second.state == Flow::State::Direct) stop_listening(attempt.socket.get());
  }
  flows_.erase(flow);
}

}  // namespace nutshell::init
