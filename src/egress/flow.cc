#include "egress/flow.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/file.h"
#include "base/safe_text.h"
#include "egress/host_name.h"
#include "egress/relay_guard.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kConnectTime = 75s;
constexpr auto kJoinTime = 30s;
constexpr auto kFirstBytesTime = 5min;  // browsers connect in advance
constexpr auto kDrainTime = 30s;

// A fatal alert "access denied", which TLS libraries tell by that name.
constexpr std::string_view kTlsAlert("\x15\x03\x03\x00\x02\x02\x31", 7);

int option_of(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, level, name, &value, &size) == 0 ? value : -1;
}

// Whether this is a TCP connection. Init may pass anything.
bool is_connection(int socket) {
  const int domain = option_of(socket, SOL_SOCKET, SO_DOMAIN);
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return (domain == AF_INET || domain == AF_INET6) &&
         option_of(socket, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

}  // namespace

Flow::~Flow() {
  stop_watching();
  context_.inspected.cut(number_);
}

void Flow::stop_watching() {
  context_.loop.forget(std::exchange(watch_, 0));
  context_.loop.forget(std::exchange(server_watch_, 0));
  if (timer_) context_.loop.forget_timer(*timer_);
  timer_.reset();
}

// ---- To the server ------------------------------------------------------------------------------

void Flow::open(const wire::OpenFlow& request) {
  port_ = request.port;
  std::optional<Address> address = Address::of_bytes(request.address);
  if (request.address.empty()) {
    address = Address::parse(request.name);
    if (!address) {
      name_ = request.name;
      return open_by_name();
    }
  }
  if (!address || port_ == 0) return fail(EINVAL, "init named no address");
  const auto names = context_.names.names_of(*address);
  judgement_ =
      context_.judge.with([&](const Judge& judge) { return judge.judge(*address, port_, names); });
  connect_to(*address);
}

void Flow::refuse_for(const wire::OpenFlow& request, std::string reason) {
  port_ = request.port;
  address_ = Address::of_bytes(request.address);
  judgement_.host = address_ ? address_->text() : terminal_line(request.name.substr(0, 100));
  refuse(std::move(reason));
}

void Flow::open_by_name() {
  const auto name = canonical_name(name_);
  judgement_.host = terminal_line(name_.substr(0, 100));
  judgement_.rule = host_and_port(judgement_.host, port_);
  if (!name) {
    judgement_.reason = fmt::format("'{}' is not the name of a host", judgement_.host);
    return refuse(judgement_.reason);
  }
  name_ = *name;
  judgement_ =
      context_.judge.with([&](const Judge& judge) { return judge.judge_name(name_, port_); });
  if (!judgement_.is_allowed()) return refuse(judgement_.reason);
  const auto take = [this, alive = std::weak_ptr<int>(alive_)](
                        wire::RecordType type, const Addresses& answer, const auto& again) -> void {
    if (alive.expired()) return;
    const bool is_found = answer.resolution == wire::Resolution::Found;
    if (is_found && !answer.addresses.empty()) {
      const Address& first = answer.addresses.front();
      judgement_ = context_.judge.with(
          [&](const Judge& judge) { return judge.judge(first, port_, {name_}); });
      return connect_to(first);
    }
    if (is_found && type == wire::RecordType::Address4) {
      return context_.names.look_up(
          name_, wire::RecordType::Address6,
          [again](const Addresses& six) { again(wire::RecordType::Address6, six, again); });
    }
    // The name service has recorded a refusal.
    if (answer.resolution == wire::Resolution::NotAllowed) {
      opened(ECONNREFUSED, answer.reason);
      return end(false, {}, false);
    }
    fail(EHOSTUNREACH, answer.reason.empty() ? name_ + " has no address" : answer.reason);
  };
  const auto type = wire::RecordType::Address4;
  context_.names.look_up_for_sandbox(
      name_, type, [take](const Addresses& four) { take(wire::RecordType::Address4, four, take); });
}

void Flow::connect_to(const Address& address) {
  address_ = address;
  if (judgement_.way == Judgement::Way::Silent) return fail(ECONNREFUSED, judgement_.reason);
  if (!judgement_.is_allowed()) return refuse(judgement_.reason);
  const bool is_read =
      judgement_.way == Judgement::Way::ByNames && is_default_port(port_) &&
      context_.judge.with([](const Judge& judge) { return judge.is_inspecting(); });
  if (is_read) return opened(0, {});  // the server is reached when a request is known
  Connecting connecting = context_.outside.connect(address, port_, judgement_.host);
  if (!connecting.socket) {
    const int error = connecting.error_number;
    return fail(error, syscall_failure(error, judgement_.rule).value().message);
  }
  server_ = std::move(connecting.socket);
  state_ = State::Connecting;
  auto watch =
      context_.loop.watch(server_.get(), EPOLLOUT, [this](std::uint32_t) { on_connected(); });
  if (!watch) return fail(ENOBUFS, watch.error().message);
  watch_ = *watch;
  timer_ = context_.loop.call_at(Clock::now() + kConnectTime, [this] {
    timer_.reset();
    fail(ETIMEDOUT, fmt::format("{}: no answer", judgement_.rule));
  });
}

void Flow::on_connected() {
  stop_watching();
  const int error = option_of(server_.get(), SOL_SOCKET, SO_ERROR);
  if (error != 0) return fail(error, syscall_failure(error, judgement_.rule).value().message);
  opened(0, {});
}

// ---- To the sandbox -----------------------------------------------------------------------------

void Flow::refuse(std::string reason) {
  record(NetworkEventKind::Refused, reason);
  context_.stream.queue(wire::FlowOpened{number_, ECONNREFUSED, std::move(reason), 1});
  is_wire_over_ = true;
  end(false, {}, false);
}

void Flow::fail(int error_number, std::string reason) {
  if (judgement_.way != Judgement::Way::Silent) record(NetworkEventKind::Failed, reason);
  opened(error_number, std::move(reason));
  end(false, {}, false);
}

void Flow::opened(int error_number, std::string reason) {
  context_.stream.queue(
      wire::FlowOpened{number_, static_cast<std::uint16_t>(error_number), std::move(reason), 0});
  is_wire_over_ = error_number != 0;
  if (error_number == 0) {
    is_opened_ = true;
    record(NetworkEventKind::Opened);
    state_ = State::Joining;
    timer_ = context_.loop.call_at(Clock::now() + kJoinTime, [this] {
      timer_.reset();
      end(true, "init did not take the connection", false);
    });
    if (!context_.has_door) {
      if (auto joined = join(); !joined) end(true, joined.error().message, false);
    }
  }
  context_.flush();
}

Result<> Flow::take_socket(UniqueFd socket) {
  if (state_ != State::Joining)
    return failure(ErrorCode::Corrupt, "init passed a socket that nobody asked for");
  if (!is_connection(socket.get()))
    return failure(ErrorCode::Corrupt, "init passed what is not a connection");
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return begin_check(std::move(socket));
}

Result<> Flow::join() {
  if (state_ != State::Joining || bridge_)
    return failure(ErrorCode::Corrupt, "init joined a flow that is not open");
  bridge_ = std::make_unique<Bridge>(context_.loop, context_.stream, number_, [this] {
    context_.flush();
    end_if_drained();
  });
  return begin_check(TRY(bridge_->begin()));
}

Result<> Flow::take_data(const wire::FlowData& data) {
  if (!bridge_)
    return failure(ErrorCode::Corrupt, "init sent bytes of a flow that it does not carry");
  return bridge_->take_data(data.bytes);
}

Result<> Flow::take_consumed(std::uint64_t offset) {
  if (!bridge_) return failure(ErrorCode::Corrupt, "init consumed bytes that it was not sent");
  return bridge_->take_consumed(offset);
}

Result<> Flow::take_end() {
  if (!bridge_) return failure(ErrorCode::Corrupt, "init ended a flow that it does not carry");
  bridge_->take_end();
  end_if_drained();
  return {};
}

void Flow::take_reset() {
  is_wire_over_ = true;
  end(true, {}, false);
}

// ---- The first bytes ----------------------------------------------------------------------------

Result<> Flow::begin_check(UniqueFd client) {
  stop_watching();
  client_ = std::move(client);
  if (judgement_.way == Judgement::Way::Free) {
    carry();
    return {};
  }
  state_ = State::Checking;
  watch_ = TRY(context_.loop.watch(client_.get(), EPOLLIN | EPOLLRDHUP | EPOLLET,
                                   [this](std::uint32_t events) { check_first_bytes(events); }));
  if (judgement_.grant == RuleList::Grant::Any) {
    // A server that speaks first speaks neither TLS nor HTTP.
    server_watch_ =
        TRY(context_.loop.watch(server_.get(), EPOLLIN, [this](std::uint32_t) { carry(); }));
    return {};
  }
  timer_ = context_.loop.call_at(Clock::now() + kFirstBytesTime, [this] {
    timer_.reset();
    end(true, judgement_.rule + ": the client said nothing", false);
  });
  return {};
}

void Flow::check_first_bytes(std::uint32_t events) {
  auto& buffer = context_.buffer;
  const ssize_t count = ::recv(client_.get(), buffer.data(),
                               std::min(buffer.size(), kMostFirstBytes), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) return end(true, {}, false);
  const bool is_last = count == 0 || (events & (EPOLLRDHUP | EPOLLHUP)) != 0;
  const FirstBytes bytes = read_first_bytes({buffer.data(), static_cast<std::size_t>(count)});
  const Content content = context_.judge.with(
      [&](const Judge& judge) { return judge.judge_content(bytes, judgement_, port_); });
  switch (content.way) {
    case Content::Way::Incomplete:
      if (!is_last) return;
      return judgement_.grant == RuleList::Grant::Any ? carry() : end(false, {}, false);
    case Content::Way::Plain:
      return carry();
    case Content::Way::Refused:
      return refuse_content(content.reason, bytes.kind == FirstBytes::Kind::Tls);
    case Content::Way::Http:
      return inspect(content);
    case Content::Way::Tls: {
      // A flow without a server began under a policy that inspects.
      const bool is_inspected =
          !server_ || context_.judge.with([](const Judge& judge) { return judge.is_inspecting(); });
      return is_inspected ? inspect(content) : carry();
    }
  }
}

void Flow::refuse_content(const std::string& reason, bool is_tls) {
  record(NetworkEventKind::Refused, reason);
  stop_watching();
  if (is_tls) {
    (void)::send(client_.get(), kTlsAlert.data(), kTlsAlert.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    // Bytes that were not read would turn the end into a reset, which overtakes the alert.
    while (::recv(client_.get(), context_.buffer.data(), context_.buffer.size(), MSG_DONTWAIT) >
           0) {
    }
  }
  context_.stream.queue(wire::FlowReset{number_, reason, 1});
  is_wire_over_ = true;
  end(false, {}, true);
}

// ---- Bytes --------------------------------------------------------------------------------------

void Flow::carry() {
  stop_watching();
  state_ = State::Carried;
  carrier_ = std::make_unique<Carrier>(context_.loop, context_.allowance, context_.buffer);
  auto begun = carrier_->begin(std::move(client_), std::move(server_), [this](Carrier::End done) {
    const std::string reason = done.is_over_allowance
                                   ? "the sandbox has used all bytes that its network policy allows"
                                   : "";
    if (done.is_over_allowance) record(NetworkEventKind::Refused, reason);
    end(done.is_broken, reason, done.is_over_allowance);
  });
  if (!begun) end(true, begun.error().message, false);
}

void Flow::inspect(const Content& content) {
  stop_watching();
  state_ = State::Inspected;
  auto guard = std::make_shared<RelayGuard>(context_, number_, judgement_, std::move(server_));
  auto work = [client = std::make_shared<UniqueFd>(std::move(client_)), guard, content,
               port = port_, this, alive = std::weak_ptr<int>(alive_)] {
    guard->serve(std::move(*client), content, port);
    guard->loop().post([this, alive] {
      if (!alive.expired()) end(false, {}, false);
    });
  };
  if (!context_.inspected.begin(number_, std::move(work)))
    end(true, "too many connections are inspected at once", false);
}

void Flow::judge_again() {
  if (state_ == State::Over || state_ == State::Draining) return;
  Judgement now = context_.judge.with([&](const Judge& judge) {
    if (state_ == State::Resolving) return judge.judge_name(name_, port_);
    auto names = judgement_.names;
    if (names.empty() && address_) names = context_.names.names_of(*address_);
    return judge.judge(address_.value_or(Address()), port_, names);
  });
  if (now.is_allowed()) {
    // The policy before decided what it carries, and with which secrets.
    if (state_ == State::Inspected) end(true, "the network policy was changed", false);
    return;
  }
  const std::string reason = fmt::format("the network policy was changed: {}", now.reason);
  record(NetworkEventKind::Refused, reason);
  end(true, reason, true);
}

void Flow::end(bool is_broken, std::string reason, bool is_refusal) {
  if (state_ == State::Over || (state_ == State::Draining && !is_broken && !is_wire_over_)) return;
  stop_watching();
  if (is_opened_) record(NetworkEventKind::Closed);
  is_opened_ = false;
  if (state_ == State::Inspected) context_.inspected.cut(number_);
  if (is_broken && carrier_) carrier_->reset();
  for (const UniqueFd* socket : {&client_, &server_}) {
    if (is_broken && *socket) break_on_close(socket->get());
  }
  carrier_.reset();
  client_.reset();
  server_.reset();
  if (!is_wire_over_ && (is_broken || is_refusal)) {
    context_.stream.queue(wire::FlowReset{number_, std::move(reason),
                                          is_refusal ? std::uint8_t{1} : std::uint8_t{0}});
    is_wire_over_ = true;
  }
  if (!is_wire_over_ && bridge_) return drain();
  if (!is_wire_over_) context_.stream.queue(wire::FlowEnd{number_});
  if (bridge_) bridge_->stop();
  state_ = State::Over;
  context_.loop.call_at(Clock::now(), over_);
  context_.flush();
}

// Our side has ended; init still gets what is on its way, and tells its own end.
void Flow::drain() {
  state_ = State::Draining;
  timer_ = context_.loop.call_at(Clock::now() + kDrainTime, [this] {
    timer_.reset();
    end(true, {}, false);
  });
  bridge_->go_on();
  context_.flush();
  end_if_drained();
}

void Flow::end_if_drained() {
  if (state_ != State::Draining || !bridge_->is_over()) return;
  is_wire_over_ = true;
  end(false, {}, false);
}

void Flow::record(NetworkEventKind kind, std::string reason) {
  NetworkEvent event;
  event.kind = kind;
  event.host = judgement_.host;
  event.address = address_ ? address_->text() : "";
  if (event.address == event.host) event.address.clear();
  event.port = port_;
  event.reason = std::move(reason);
  event.rule = judgement_.rule;
  if (carrier_) {
    event.sent_bytes = carrier_->sent();
    event.received_bytes = carrier_->received();
  }
  context_.events.add(std::move(event));
}

}  // namespace nutshell::egress
