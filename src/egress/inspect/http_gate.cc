#include "egress/inspect/http_gate.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <optional>
#include <utility>

#include "egress/inspect/cached_answer.h"
#include "egress/inspect/exchange.h"
#include "egress/inspect/secrets.h"

namespace nutshell::egress {
namespace {

using http::Transport;

constexpr std::size_t kMostHeadBytes = 64U << 10U;
constexpr std::size_t kMostDrainedBytes = 1U << 20U;
constexpr std::chrono::seconds kDrainTime{2};
constexpr std::uint64_t kMostHeldBytes = 1U << 20U;

// A line that ends in a bare LF never makes a whole head, so it is refused before the rest comes.
bool has_bare_line_feed(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  return end != std::string_view::npos && (end == 0 || bytes[end - 1] != '\r');
}

bool is_readable(int descriptor) {
  pollfd wait{descriptor, POLLIN, 0};
  return ::poll(&wait, 1, 0) != 0;
}

bool may_repeat(const GateRequest& request) {
  const std::string& method = request.named.method;
  return !request.has_body() && (method == "GET" || method == "HEAD" || method == "OPTIONS");
}

// The parts of secrets and of the cache in one request.
struct Changes {
  AnswerFilter* filter = nullptr;
  StreamReplacer* body = nullptr;
  std::string held_body;           // the whole body, if it was read in advance
  CachedAnswer* cached = nullptr;  // if the answer may be kept
};

class Gate {
 public:
  Gate(Transport& client, const GateTerms& terms) : terms_(terms), client_{&client, {}} {}

  void serve() {
    while (serve_one()) {
    }
    end();
  }

 private:
  enum class Next { Request, End };

  bool serve_one();
  Result<std::string> read_head();
  std::optional<http::Refusal> judge(std::string_view head, http::RequestParser& parser,
                                     GateRequest& request);
  bool pass(GateRequest& request, http::RequestParser& parser);
  bool exchange(const GateRequest& request, http::RequestParser& parser, const Changes& changes);
  bool give(CachedAnswer& cached, const GateRequest& request);
  Result<std::string> read_body(http::RequestParser& parser);
  Result<> open_server(const HttpRequestHead& named);
  void close_server();
  bool answer(const http::Refusal& refusal, const GateRequest& request, Next next);
  void end();

  const GateTerms& terms_;
  GateSide client_;
  GateSide server_;
  std::unique_ptr<Transport> server_transport_;
  HostPort server_place_;
};

bool Gate::serve_one() {
  GateRequest request;
  const auto head = read_head();
  if (!head) {
    const bool is_late = head.error().code == ErrorCode::DeadlineExceeded;
    if (is_late && !client_.input.empty()) {
      answer({408, "the head of the request did not come in time"}, request, Next::End);
    }
    if (head.error().code == ErrorCode::TooLarge) {
      answer({431, "the head of the request is too long"}, request, Next::End);
    }
    return false;
  }
  if (head->empty()) return false;
  http::RequestParser parser;
  if (const auto refusal = judge(*head, parser, request)) {
    terms_.guard.refused(request.named, refusal->why);
    return answer(*refusal, request, Next::End);
  }
  // A request whose body does not follow leaves the connection in order.
  const bool goes_on = request.keeps_alive && !request.has_body();
  if (const auto why = terms_.guard.refusal(request.named)) {
    return answer({403, *why}, request, goes_on ? Next::Request : Next::End);
  }
  if (request.expects_continue && request.has_body()) {
    const Deadline deadline = Deadline::in(terms_.settings.times.client);
    if (!client_.transport->write("HTTP/1.1 100 Continue\r\n\r\n", deadline)) return false;
  }
  return pass(request, parser);
}

// Empty if the client has ended between two requests.
Result<std::string> Gate::read_head() {
  const InspectTimes& times = terms_.settings.times;
  Deadline deadline = Deadline::in(client_.input.empty() ? times.idle : times.head);
  for (;;) {
    std::size_t length = http::head_length(client_.input);
    if (length == 0 && has_bare_line_feed(client_.input)) length = client_.input.size();
    if (length > kMostHeadBytes || (length == 0 && client_.input.size() > kMostHeadBytes)) {
      return failure(ErrorCode::TooLarge, "the head of the request is too long");
    }
    if (length > 0) {
      std::string head = client_.input.substr(0, length);
      client_.input.erase(0, length);
      return head;
    }
    std::array<char, 16U << 10U> space;  // NOLINT: filled by read
    const std::size_t count = TRY(client_.transport->read(space.data(), space.size(), deadline));
    if (count == 0 && client_.input.empty()) return std::string();
    if (count == 0) return failure(ErrorCode::Unavailable, "the request was cut off");
    if (client_.input.empty()) deadline = Deadline::in(times.head);
    client_.input.append(space.data(), count);
    TRY(terms_.guard.carry(count));
  }
}

std::optional<http::Refusal> Gate::judge(std::string_view head, http::RequestParser& parser,
                                         GateRequest& request) {
  if (auto refusal = read_request(head, terms_.scheme, parser, request)) return refusal;
  const HostPort asked{request.named.host, request.named.port};
  if (terms_.place.host.empty() || asked == terms_.place) return std::nullopt;
  return http::Refusal{421,
                       fmt::format("the request names {}:{}, and its connection was made to "
                                   "{}:{}",
                                   asked.host, asked.port, terms_.place.host, terms_.place.port)};
}

bool Gate::pass(GateRequest& request, http::RequestParser& parser) {
  SecretUse secrets(terms_.settings.secrets, request);
  for (const std::string& name : secrets.used())
    terms_.guard.noted(request.named, fmt::format("the request got the secret {}", name));
  for (const std::string& name : secrets.misplaced()) {
    terms_.guard.noted(request.named,
                       fmt::format("the request went out with the placeholder of {}: that secret "
                                   "is for other hosts, and for TLS only",
                                   name));
  }
  for (const std::string& name : secrets.unfit_headers()) {
    terms_.guard.noted(request.named,
                       fmt::format("the placeholder in the field {} stayed: values go only into "
                                   "Authorization and fields for keys, such as X-Api-Key",
                                   name));
  }
  Changes changes;
  if (secrets.filters_answer()) changes.filter = &secrets;
  auto cached = secrets.goes_to_their_host() ? std::nullopt
                                             : CachedAnswer::begin(terms_.settings.cache, request);
  if (cached) {
    changes.filter = &*cached;
    changes.cached = &*cached;
    return cached->is_current() ? give(*cached, request) : exchange(request, parser, changes);
  }
  if (!secrets.changes_body() || !request.has_body()) return exchange(request, parser, changes);
  if (request.content_length.value_or(kMostHeldBytes + 1) <= kMostHeldBytes) {
    // Many servers take no chunked requests, so the usual ones keep a length.
    const auto body = read_body(parser);
    if (!body) return answer({408, body.error().message}, request, Next::End);
    changes.held_body = replaced(*body, secrets.body());
    request.content_length = changes.held_body.size();
    return exchange(request, parser, changes);
  }
  StreamReplacer replacer(secrets.body());
  changes.body = &replacer;
  request.is_chunked = true;
  request.content_length.reset();
  return exchange(request, parser, changes);
}

bool Gate::give(CachedAnswer& cached, const GateRequest& request) {
  return cached.give(*client_.transport, request, terms_.guard, terms_.settings.times) &&
         request.keeps_alive;
}

Result<std::string> Gate::read_body(http::RequestParser& parser) {
  std::string body;
  std::array<char, 16U << 10U> space;  // NOLINT: filled by take_body and read
  const Deadline deadline = Deadline::in(terms_.settings.times.client);
  while (!parser.is_done()) {
    const auto taken = TRY(parser.take_body(client_.input, space.data(), space.size()));
    client_.input.erase(0, taken.consumed);
    body.append(space.data(), taken.produced);
    if (taken.consumed > 0 || parser.is_done()) continue;
    const std::size_t count = TRY(client_.transport->read(space.data(), space.size(), deadline));
    if (count == 0) return failure(ErrorCode::Unavailable, "the request was cut off");
    client_.input.append(space.data(), count);
    TRY(terms_.guard.carry(count));
  }
  return body;
}

bool Gate::exchange(const GateRequest& request, http::RequestParser& parser,
                    const Changes& changes) {
  const bool is_stored = changes.cached != nullptr && changes.cached->is_stored();
  for (int attempt = 1;; ++attempt) {
    const HostPort asked{request.named.host, request.named.port};
    if (server_transport_ &&
        (server_place_ != asked || is_readable(server_transport_->descriptor())))
      close_server();
    const bool is_used = server_transport_ != nullptr;
    if (!is_used) {
      if (const auto opened = open_server(request.named); !opened) {
        const bool is_refusal = opened.error().code == ErrorCode::PermissionDenied;
        if (!is_refusal && is_stored) return give(*changes.cached, request);
        const bool goes_on = request.keeps_alive && !request.has_body();
        return answer({is_refusal ? 403 : 502, opened.error().message}, request,
                      goes_on ? Next::Request : Next::End);
      }
    }
    Exchange exchange(client_, server_, request, parser,
                      {terms_.guard, terms_.settings.times, changes.filter, changes.body});
    exchange.begin(write_request(request, request.content_length) + changes.held_body);
    const auto after = exchange.run();
    if (after && is_stored && changes.cached->takes_over()) {
      if (*after != Exchange::After::KeepBoth) close_server();
      return give(*changes.cached, request);
    }
    if (after && *after == Exchange::After::KeepBoth) return true;
    close_server();
    if (after) return *after == Exchange::After::CloseServer;
    // A server may close an idle connection at the moment at which it is used again.
    const bool is_repeated =
        attempt == 1 && is_used && !exchange.has_heard_server() && may_repeat(request);
    if (is_repeated) continue;
    if (exchange.has_answered()) return false;
    if (is_stored) return give(*changes.cached, request);
    const bool is_late = after.error().code == ErrorCode::DeadlineExceeded;
    return answer({is_late ? 504 : 502, after.error().message}, request, Next::End);
  }
}

Result<> Gate::open_server(const HttpRequestHead& named) {
  UniqueFd socket = TRY(terms_.guard.connect(named.host, named.port));
  server_transport_ = TRY(terms_.reach(std::move(socket), named.host));
  server_ = {server_transport_.get(), {}};
  server_place_ = {named.host, named.port};
  return {};
}

void Gate::close_server() {
  server_transport_.reset();
  server_ = {};
}

// The text is for people and models. Returns whether the connection goes on.
bool Gate::answer(const http::Refusal& refusal, const GateRequest& request, Next next) {
  const std::string body = fmt::format("nutshell: {}\n", refusal.why);
  const bool goes_on = next == Next::Request;
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: {}\r\n\r\n",
      refusal.status,
      refusal.status == 403 ? "Forbidden by the network policy" : http::reason_of(refusal.status),
      body.size(), goes_on ? "keep-alive" : "close");
  if (request.named.method != "HEAD") bytes += body;
  const Deadline deadline = Deadline::in(terms_.settings.times.client);
  return client_.transport->write(bytes, deadline) && goes_on;
}

// Reads what the client still sends: closing a socket with unread bytes would reset the connection,
// and the client would not see the answer.
void Gate::end() {
  client_.transport->end_writing();
  const Deadline deadline = Deadline::in(kDrainTime);
  std::array<char, 16U << 10U> space;  // NOLINT: nothing reads it
  for (std::size_t drained = 0; drained < kMostDrainedBytes;) {
    const auto count = client_.transport->read(space.data(), space.size(), deadline);
    if (!count || *count == 0) return;
    drained += *count;
  }
}

}  // namespace

void serve_requests(http::Transport& client, const GateTerms& terms) {
  Gate(client, terms).serve();
}

}  // namespace nutshell::egress
