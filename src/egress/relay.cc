#include "egress/relay.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/descriptor_message.h"
#include "base/file.h"
#include "core/network_policy.h"
#include "egress/cache/registries.h"
#include "egress/flow.h"

namespace nutshell::egress {
namespace {

constexpr std::size_t kDescriptorsOfFlow = 4;
constexpr std::size_t kMostResolving = 1024;

// Each flow has up to four descriptors, and the usual limit is 1024.
void allow_descriptors(std::uint32_t flows) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = limit.rlim_cur + flows * kDescriptorsOfFlow;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // without it, connections fail at the old limit
}

NetworkPolicy without_values(NetworkPolicy policy) {
  for (NetworkSecret& secret : policy.secrets)
    secret.value.clear();
  return policy;
}

// A secret without a value keeps the one that it has: whoever does not know it can take it away,
// but not send it elsewhere.
Result<NetworkPolicy> with_values(NetworkPolicy policy, const NetworkPolicy& before) {
  for (NetworkSecret& secret : policy.secrets) {
    const auto same =
        std::find_if(before.secrets.begin(), before.secrets.end(),
                     [&](const NetworkSecret& other) { return other.name == secret.name; });
    if (!secret.value.empty() || same == before.secrets.end()) continue;
    const bool has_new_host =
        std::any_of(secret.hosts.begin(), secret.hosts.end(), [&](const std::string& host) {
          return std::find(same->hosts.begin(), same->hosts.end(), host) == same->hosts.end();
        });
    if (has_new_host || (secret.is_in_query && !same->is_in_query) ||
        (secret.is_in_body && !same->is_in_body)) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("secret {}: give its value again to let it go to more hosts or "
                                 "into more places",
                                 secret.name));
    }
    secret.value = same->value;
  }
  return policy;
}

class RelayOfSandbox : public Relay {
 public:
  RelayOfSandbox(std::unique_ptr<EventLoop> loop, InitStream stream, Judge judge,
                 Inspection* inspection)
      : inspection_(inspection),
        loop_(std::move(loop)),
        stream_(std::move(stream)),
        judge_(std::move(judge)),
        allowance_(judge_.with([](const Judge& now) { return now.policy().most_bytes; }),
                   judge_.with([](const Judge& now) { return now.policy().bytes_per_second; })) {}
  RelayOfSandbox(const RelayOfSandbox&) = delete;
  RelayOfSandbox& operator=(const RelayOfSandbox&) = delete;
  ~RelayOfSandbox() override { close(); }

  Result<> begin(std::vector<std::string> environment, const MakeOutside& make_outside);
  Result<> run() override;
  void stop() override { loop_->stop(); }
  Result<> wait_opened(const Deadline& deadline) override;
  Result<> set_policy(const NetworkPolicy& policy) override;
  [[nodiscard]] NetworkStatus status() const override;
  [[nodiscard]] std::vector<NetworkEvent> events(std::uint64_t after) const override {
    return events_.after(after);
  }

 private:
  void on_stream(std::uint32_t events);
  void flush();
  void fail(Error error);
  Result<> take_frames();
  Result<> take(const wire::Frame& frame);
  Result<> take_flow_frame(const wire::Frame& frame);
  Result<> take_opened(const wire::EgressOpened& opened);
  void on_door();
  Result<> take_from_door();
  void resolve(const wire::Resolve& request);
  Result<> open(const wire::OpenFlow& request);
  // Null if the flow is over: init may not know that yet.
  Flow* find(std::uint32_t number);
  void close();
  void tell_opened(bool is_opened);

  Inspection* inspection_;
  std::unique_ptr<EventLoop> loop_;
  InitStream stream_;
  Guarded<Judge> judge_;
  Allowance allowance_;
  EventLog events_;
  Carrier::Buffer buffer_ = Carrier::Buffer(Carrier::kBufferBytes);
  std::unique_ptr<Outside> outside_;
  std::optional<NameService> names_;
  std::optional<InspectedFlows> inspected_;
  std::optional<FlowContext> context_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Flow>> flows_;
  EventLoop::Watch stream_watch_ = 0;
  UniqueFd door_;
  EventLoop::Watch door_watch_ = 0;
  std::size_t resolving_ = 0;
  std::atomic<std::size_t> open_flows_{0};
  std::atomic<wire::NetworkWay> way_{wire::NetworkWay::Notification};
  std::optional<Error> error_;
  bool has_ended_ = false;
  std::promise<bool> opened_;
  std::future<bool> is_opened_ = opened_.get_future();
  bool has_told_opened_ = false;
};

Result<> RelayOfSandbox::begin(std::vector<std::string> environment,
                               const MakeOutside& make_outside) {
  outside_ = TRY(make_outside(*loop_));
  names_.emplace(*outside_, judge_, events_);
  inspected_.emplace();
  context_.emplace(FlowContext{.loop = *loop_,
                               .stream = stream_,
                               .flush = [this] { flush(); },
                               .outside = *outside_,
                               .names = *names_,
                               .judge = judge_,
                               .allowance = allowance_,
                               .events = events_,
                               .inspected = *inspected_,
                               .buffer = buffer_,
                               .inspection = inspection_});
  allow_descriptors(judge_.with([](const Judge& now) { return now.policy().most_connections; }));
  TRY(set_nonblocking(stream_.descriptor()));
  stream_watch_ = TRY(loop_->watch(stream_.descriptor(), EPOLLIN,
                                   [this](std::uint32_t events) { on_stream(events); }));
  stream_.queue(wire::Egress{std::move(environment),
                             stream_.takes_descriptors() ? std::uint8_t{1} : std::uint8_t{0}});
  return stream_.send_some();
}

Result<> RelayOfSandbox::run() {
  flush();
  auto ran = loop_->run();
  close();
  tell_opened(false);
  if (!ran) return ran;
  if (error_) return Failure(std::move(*error_));
  return {};
}

void RelayOfSandbox::tell_opened(bool is_opened) {
  if (!std::exchange(has_told_opened_, true)) opened_.set_value(is_opened);
}

// Threads that inspect wait for answers of the name service: it goes first, so that they get none.
void RelayOfSandbox::close() {
  loop_->stop();
  flows_.clear();
  names_.reset();
  outside_.reset();
  inspected_.reset();
}

void RelayOfSandbox::fail(Error error) {
  if (!error_ && !has_ended_) error_ = std::move(error);
  has_ended_ = true;
  loop_->stop();
}

void RelayOfSandbox::flush() {
  if (has_ended_) return;
  if (auto sent = stream_.send_some(); !sent) return fail(std::move(sent).error());
  loop_->change(stream_watch_, stream_.queued() > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void RelayOfSandbox::on_stream(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    flush();
    for (const auto& [number, flow] : flows_)
      flow->go_on();
  }
  if ((events & ~EPOLLOUT) != 0) {
    const auto is_open = stream_.receive_some();
    if (!is_open) return fail(Error(is_open.error()));
    auto taken = take_frames();
    if (!taken) return fail(std::move(taken).error());
    if (!*is_open) {
      has_ended_ = true;
      return loop_->stop();
    }
  }
  flush();
}

Result<> RelayOfSandbox::take_frames() {
  while (const auto frame = TRY(stream_.next_frame()))
    TRY(take(*frame));
  return {};
}

Result<> RelayOfSandbox::take(const wire::Frame& frame) {
  using wire::MessageType;
  switch (frame.type) {
    case MessageType::EgressOpened:
      return take_opened(TRY(wire::decode<wire::EgressOpened>(frame.payload)));
    case MessageType::Resolve:
      resolve(TRY(wire::decode<wire::Resolve>(frame.payload)));
      return {};
    case MessageType::OpenFlow:
      return open(TRY(wire::decode<wire::OpenFlow>(frame.payload)));
    case MessageType::Failed: {
      const auto failed = TRY(wire::decode<wire::Failed>(frame.payload));
      return failure(failed.code, failed.message);
    }
    default:
      return take_flow_frame(frame);
  }
}

Result<> RelayOfSandbox::take_flow_frame(const wire::Frame& frame) {
  using wire::MessageType;
  switch (frame.type) {
    case MessageType::FlowJoined: {
      Flow* flow = find(TRY(wire::decode<wire::FlowJoined>(frame.payload)).flow);
      return flow == nullptr ? Result<>() : flow->join();
    }
    case MessageType::FlowData: {
      const auto data = TRY(wire::decode<wire::FlowData>(frame.payload));
      Flow* flow = find(data.flow);
      return flow == nullptr ? Result<>() : flow->take_data(data);
    }
    case MessageType::FlowConsumed: {
      const auto consumed = TRY(wire::decode<wire::FlowConsumed>(frame.payload));
      Flow* flow = find(consumed.flow);
      return flow == nullptr ? Result<>() : flow->take_consumed(consumed.offset);
    }
    case MessageType::FlowEnd: {
      Flow* flow = find(TRY(wire::decode<wire::FlowEnd>(frame.payload)).flow);
      return flow == nullptr ? Result<>() : flow->take_end();
    }
    case MessageType::FlowReset: {
      Flow* flow = find(TRY(wire::decode<wire::FlowReset>(frame.payload)).flow);
      if (flow != nullptr) flow->take_reset();
      return {};
    }
    default:
      return failure(ErrorCode::Corrupt, "init sent a message that is no part of Egress");
  }
}

// ---- The door -----------------------------------------------------------------------------------

Result<> RelayOfSandbox::take_opened(const wire::EgressOpened& opened) {
  if (opened.way != wire::NetworkWay::Notification && opened.way != wire::NetworkWay::Proxy)
    return failure(ErrorCode::Corrupt, "init has no way that this version knows");
  way_ = opened.way;
  tell_opened(true);
  UniqueFd door = stream_.take_descriptor();
  if (opened.has_door == 0 || !door || door_) return {};
  int type = 0;
  socklen_t size = sizeof type;
  const bool is_packets =
      ::getsockopt(door.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
  if (!is_packets) return failure(ErrorCode::Corrupt, "init sent a door that is no packet socket");
  door_ = std::move(door);
  door_watch_ = TRY(loop_->watch(door_.get(), EPOLLIN, [this](std::uint32_t) { on_door(); }));
  context_->has_door = true;
  stream_.queue(wire::DoorTaken{});
  return {};
}

void RelayOfSandbox::on_door() {
  auto taken = take_from_door();
  if (!taken) return fail(std::move(taken).error());
  flush();
}

Result<> RelayOfSandbox::take_from_door() {
  for (int turn = 0; turn < 64; ++turn) {
    std::uint32_t number = 0;
    UniqueFd socket;
    const std::span<char> space(reinterpret_cast<char*>(&number), sizeof number);
    const ssize_t count = receive_with_descriptor(door_.get(), space, MSG_DONTWAIT, socket);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (count <= 0) {  // the stream tells the end
      loop_->forget(std::exchange(door_watch_, 0));
      return {};
    }
    if (count != sizeof number || !socket)
      return failure(ErrorCode::Corrupt, "init sent a packet without a socket through the door");
    if (Flow* flow = find(number)) TRY(flow->take_socket(std::move(socket)));
  }
  return {};
}

// ---- Requests -----------------------------------------------------------------------------------

void RelayOfSandbox::resolve(const wire::Resolve& request) {
  if (request.type != wire::RecordType::Address4 && request.type != wire::RecordType::Address6) {
    stream_.queue(wire::Resolved{request.query, wire::Resolution::Found, 0, {}, {}});
    return;
  }
  if (resolving_ >= kMostResolving) {
    stream_.queue(wire::Resolved{request.query, wire::Resolution::Failed, 0, {}, {}});
    return;
  }
  ++resolving_;
  names_->look_up_for_sandbox(
      request.name, request.type,
      [this, query = request.query, type = request.type](const Addresses& answer) {
        --resolving_;
        wire::Resolved resolved;
        resolved.query = query;
        resolved.resolution = answer.resolution;
        resolved.seconds_to_live = static_cast<std::uint32_t>(answer.time_to_live.count());
        resolved.reason = answer.reason;
        for (const Address& address : answer.addresses) {
          if (address.is_four() == (type == wire::RecordType::Address4))
            resolved.addresses.emplace_back(address.bytes());
        }
        stream_.queue(std::move(resolved));
        flush();
      });
}

Result<> RelayOfSandbox::open(const wire::OpenFlow& request) {
  const auto same = flows_.find(request.flow);
  if (same != flows_.end() && !same->second->is_over())
    return failure(ErrorCode::Corrupt, "init opened a flow that is open already");
  if (same != flows_.end()) flows_.erase(same);
  const auto over = [this, number = request.flow] {
    const auto found = flows_.find(number);
    if (found != flows_.end() && found->second->is_over()) flows_.erase(found);
    open_flows_ = flows_.size();
  };
  const std::uint32_t most =
      judge_.with([](const Judge& now) { return now.policy().most_connections; });
  const bool is_full = flows_.size() >= most;
  const auto [made, is_new] =
      flows_.emplace(request.flow, std::make_unique<Flow>(*context_, request.flow, over));
  open_flows_ = flows_.size();
  if (is_full) {
    made->second->refuse_for(
        request,
        fmt::format("{} connections are open, as many as the network policy allows", most));
  } else {
    made->second->open(request);
  }
  return {};
}

Flow* RelayOfSandbox::find(std::uint32_t number) {
  const auto found = flows_.find(number);
  return found == flows_.end() || found->second->is_over() ? nullptr : found->second.get();
}

// ---- From other threads -------------------------------------------------------------------------

Result<> RelayOfSandbox::wait_opened(const Deadline& deadline) {
  const auto left = std::chrono::milliseconds(deadline.poll_timeout());
  if (is_opened_.wait_for(left) != std::future_status::ready)
    return failure(ErrorCode::DeadlineExceeded, "the sandbox's init does not answer");
  if (is_opened_.get()) return {};
  return failure(ErrorCode::Unavailable, "the sandbox's init has closed the stream");
}

Result<> RelayOfSandbox::set_policy(const NetworkPolicy& policy) {
  const NetworkPolicy whole =
      TRY(judge_.with([&](const Judge& now) { return with_values(policy, now.policy()); }));
  TRY(check_network_policy(whole));
  Judge judge = TRY(Judge::create(whole));
  if (inspection_ == nullptr && judge.is_inspecting()) {
    return failure(ErrorCode::Conflict,
                   "the sandbox was started without inspection of TLS, so its programs would not "
                   "trust the host; make another sandbox with --inspect");
  }
  if (inspection_ != nullptr) TRY(inspection_->set_policy(whole));
  const auto done = std::make_shared<std::promise<void>>();  // the loop may end before
  auto future = done->get_future();
  const bool is_posted = loop_->post([this, done, judge = std::move(judge)]() mutable {
    allowance_.set(judge.policy().most_bytes, judge.policy().bytes_per_second);
    judge_.with([&](Judge& now) { now = std::move(judge); });
    for (const auto& [number, flow] : flows_)
      flow->judge_again();
    flush();
    done->set_value();
  });
  if (is_posted) {
    future.wait();
    return {};
  }
  return failure(ErrorCode::Unavailable, "the relay of the sandbox's network has ended");
}

NetworkStatus RelayOfSandbox::status() const {
  NetworkStatus status;
  status.policy = judge_.with([](const Judge& now) { return without_values(now.policy()); });
  status.way = way_ == wire::NetworkWay::Proxy ? "proxy" : "notification";
  status.open_connections = open_flows_;
  status.connections = events_.opened();
  status.refused = events_.refused();
  status.bytes = allowance_.used();
  return status;
}

}  // namespace

Result<> check_network_policy(const NetworkPolicy& policy) {
  TRY(Judge::create(policy));
  TRY(check_registries(policy.caches));
  return check_secrets(policy);
}

Result<std::unique_ptr<Relay>> Relay::create(InitStream stream, const NetworkPolicy& policy,
                                             std::vector<std::string> environment,
                                             const MakeOutside& make_outside,
                                             Inspection* inspection) {
  Judge judge = TRY(Judge::create(policy));
  if (judge.is_inspecting() && inspection == nullptr)
    return failure(ErrorCode::Unsupported, "this relay cannot inspect TLS");
  auto relay = std::make_unique<RelayOfSandbox>(TRY(EventLoop::create()), std::move(stream),
                                                std::move(judge), inspection);
  TRY(relay->begin(std::move(environment), make_outside));
  return std::unique_ptr<Relay>(std::move(relay));
}

}  // namespace nutshell::egress
