#include "egress/relay_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "base/file.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookUpTime = 20s;
constexpr auto kConnectTime = 30s;
constexpr auto kLongestSleep = 1s;
constexpr std::uint32_t kNoFlow = 0;  // init counts from 1

Result<UniqueFd> made_blocking(UniqueFd socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return syscall_failure("fcntl");
  return socket;
}

// Calls `step` in the thread of the loop, with a function that takes its answer.
template <typename Answer, typename Step>
Result<Answer> ask_loop(EventLoop& loop, Step step) {
  const auto promise = std::make_shared<std::promise<Answer>>();  // the answer may come too late
  auto future = promise->get_future();
  const bool is_posted = loop.post([promise, step] {
    step([promise](Answer answer) { promise->set_value(std::move(answer)); });
  });
  const auto given_up = failure(ErrorCode::Unavailable, "the host's resolver did not answer");
  if (!is_posted || future.wait_for(kLookUpTime) != std::future_status::ready) return given_up;
  try {
    return future.get();
  } catch (const std::future_error&) {  // the loop has ended
    return given_up;
  }
}

}  // namespace

void RelayGuard::serve(UniqueFd client, const Content& content, std::uint16_t port) {
  context_.inspected.hold(flow_, client.get());
  if (server_) context_.inspected.hold(flow_, server_.get());
  const InspectSettings settings =
      context_.inspection != nullptr ? context_.inspection->settings() : InspectSettings();
  if (content.way == Content::Way::Tls)
    return serve_tls(std::move(client), content.name, port, *this, settings);
  serve_http(std::move(client), content.name, port, *this, settings);
}

Result<UniqueFd> RelayGuard::connect(const std::string& host, std::uint16_t port) {
  if (server_) return made_blocking(std::move(server_));
  auto socket = connect_anew(host, port);
  if (socket) context_.inspected.hold(flow_, socket->get());
  return socket;
}

Result<Addresses> RelayGuard::look_up(const std::string& host, wire::RecordType type) {
  return ask_loop<Addresses>(context_.loop, [this, host, type](auto take) {
    context_.names.look_up(host, type, [take](const Addresses& answer) { take(answer); });
  });
}

Result<UniqueFd> RelayGuard::connect_anew(const std::string& host, std::uint16_t port) {
  Result<UniqueFd> socket = failure(ErrorCode::Unavailable, fmt::format("{} has no address", host));
  for (const auto type : {wire::RecordType::Address4, wire::RecordType::Address6}) {
    const Addresses found = TRY(look_up(host, type));
    if (found.resolution == wire::Resolution::NotAllowed)
      return failure(ErrorCode::PermissionDenied, found.reason);
    if (found.resolution == wire::Resolution::Failed)
      return failure(ErrorCode::Unavailable, fmt::format("find {}: {}", host, found.reason));
    for (const Address& address : found.addresses) {
      socket = connect_to(address, host, port);
      if (socket) return socket;
    }
  }
  return socket;
}

Result<UniqueFd> RelayGuard::connect_to(const Address& address, const std::string& host,
                                        std::uint16_t port) {
  const Judgement judgement =
      context_.judge.with([&](const Judge& judge) { return judge.judge(address, port, {host}); });
  if (!judgement.is_allowed()) return failure(ErrorCode::PermissionDenied, judgement.reason);
  const auto connecting = TRY(
      ask_loop<std::shared_ptr<Connecting>>(context_.loop, [this, address, host, port](auto take) {
        take(std::make_shared<Connecting>(context_.outside.connect(address, port, host)));
      }));
  const std::string place = host_and_port(host, port);
  UniqueFd& socket = connecting->socket;
  if (!socket) return syscall_failure(connecting->error_number, "connect", place);
  if (!TRY(wait_for(socket.get(), POLLOUT, Deadline::in(kConnectTime))))
    return failure(ErrorCode::Unavailable, place + ": no answer");
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0)
    return failure(ErrorCode::Unavailable, syscall_failure(error, place).value().message);
  return made_blocking(std::move(socket));
}

std::optional<std::string> RelayGuard::refusal(const HttpRequestHead& head) {
  auto why = context_.judge.with([&](const Judge& judge) -> std::optional<std::string> {
    if (judge.allows_request({head.method, head.scheme, head.host, head.path, head.port}))
      return std::nullopt;
    return fmt::format("{} {}://{}{} is not allowed{}", head.method, head.scheme,
                       host_and_port(head.host, head.port), head.path, judge.allowed_text());
  });
  if (why) record(NetworkEventKind::Refused, head, *why);
  return why;
}

Result<> RelayGuard::carry(std::size_t bytes) {
  if (context_.allowance.is_spent()) {
    return failure(ErrorCode::ResourceExhausted,
                   "the sandbox has used all bytes that its network policy allows");
  }
  context_.allowance.take(bytes);
  for (auto left = context_.allowance.wait(); left > Clock::duration::zero();
       left = context_.allowance.wait()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(left, kLongestSleep));
  }
  return {};
}

void RelayGuard::refused(const HttpRequestHead& head, const std::string& why) {
  record(NetworkEventKind::Refused, head, why);
}

void RelayGuard::record(NetworkEventKind kind, const HttpRequestHead& head, std::string reason) {
  NetworkEvent event;
  event.kind = kind;
  event.host = judgement_.host;
  event.port = head.port;
  event.method = head.method;
  event.path = head.path;
  event.reason = std::move(reason);
  event.rule = fmt::format("{} {}://{}{}", head.method, head.scheme, head.host, head.path);
  const std::string told = event.reason;
  context_.events.add(std::move(event));
  if (kind == NetworkEventKind::Refused) tell_command(told);
}

// Init counts the refusal among those of its commands; the connection stays. Waits until init has
// the message, because the command may end once it has read the answer.
void RelayGuard::tell_command(const std::string& reason) {
  FlowContext* context = &context_;
  (void)ask_loop<bool>(context_.loop, [context, reason](auto take) {
    context->stream.queue(wire::FlowReset{kNoFlow, reason, 1});
    context->flush();
    take(true);
  });  // without an answer the relay ends, and init knows that
}

}  // namespace nutshell::egress
