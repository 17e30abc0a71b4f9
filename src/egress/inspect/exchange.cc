#include "egress/inspect/exchange.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>

#include "http/message.h"

namespace nutshell::egress {
namespace {

using http::Transport;

constexpr std::size_t kPart = 16U << 10U;
constexpr std::size_t kMostHeadBytes = 64U << 10U;

std::string chunk_of(std::string_view bytes) {
  if (bytes.empty()) return {};  // a chunk without bytes would end the body
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

// The words behind the status, if they are plain text.
std::string reason_in(std::string_view head, int status) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t space = line.find(' ', std::min(line.find(' ') + 1, line.size()));
  const std::string_view words =
      space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  for (const char letter : words) {
    if (letter < ' ' || letter > '~') return std::string(http::reason_of(status));
  }
  return std::string(words);
}

short events_of(Transport::Progress progress) {
  return progress == Transport::Progress::WantsWrite ? POLLOUT : POLLIN;
}

}  // namespace

Exchange::Exchange(GateSide& client, GateSide& server, const GateRequest& request,
                   http::RequestParser& parser, const Terms& terms)
    : client_(client), server_(server), request_(request), request_parser_(parser), terms_(terms) {}

Result<Exchange::After> Exchange::run() {
  for (;;) {
    const Step up = TRY(step_up());
    const Step down = TRY(step_down());
    if (phase_ == Phase::Done && to_client_.empty()) return after();
    if (up == Step::Waits && down == Step::Waits) TRY(wait_for_either());
  }
}

Result<Exchange::Step> Exchange::step_up() {
  if (phase_ == Phase::Tunnel) return pass_tunnel(client_, to_server_, client_has_ended_, wait_up_);
  wait_up_ = {};
  if (is_server_deaf_) return Step::Waits;
  if (!to_server_.empty()) {
    auto sent = send(server_, to_server_, wait_up_);
    if (sent) return sent;
    // It may have answered before it hung up.
    is_server_deaf_ = true;
    return Step::Moved;
  }
  return is_request_sent_ ? Step::Waits : take_request_body();
}

Result<Exchange::Step> Exchange::step_down() {
  if (phase_ == Phase::Tunnel)
    return pass_tunnel(server_, to_client_, server_has_ended_, wait_down_);
  wait_down_ = {};
  if (!to_client_.empty()) return send(client_, to_client_, wait_down_);
  if (phase_ == Phase::Head) return take_response_head();
  if (phase_ == Phase::Body) return take_response_body();
  return Step::Waits;
}

Result<Exchange::Step> Exchange::send(GateSide& side, std::string& bytes, Wait& wait) {
  const Transport::Step step = TRY(side.transport->write_some(bytes));
  if (step.progress == Transport::Progress::End) {
    return failure(ErrorCode::Unavailable, "the other side hung up");
  }
  if (step.progress != Transport::Progress::Moved) {
    wait = {side.transport, step.progress};
    return Step::Waits;
  }
  bytes.erase(0, step.bytes);
  if (&side == &client_) {
    has_answered_ = true;
    TRY(terms_.guard.carry(step.bytes));
  }
  return Step::Moved;
}

Result<Exchange::Step> Exchange::receive(GateSide& side, Wait& wait, bool& has_ended) {
  std::array<char, kPart> space;  // NOLINT: filled by read_some
  const Transport::Step step = TRY(side.transport->read_some(space.data(), space.size()));
  if (step.progress == Transport::Progress::End) {
    has_ended = true;
    return Step::Moved;
  }
  if (step.progress != Transport::Progress::Moved) {
    wait = {side.transport, step.progress};
    return Step::Waits;
  }
  side.input.append(space.data(), step.bytes);
  if (&side == &client_) TRY(terms_.guard.carry(step.bytes));
  if (&side == &server_) has_heard_server_ = true;
  return Step::Moved;
}

Result<Exchange::Step> Exchange::take_request_body() {
  if (request_parser_.is_done()) {
    if (terms_.body != nullptr) to_server_ = chunk_of(terms_.body->end());
    if (request_.is_chunked) to_server_ += "0\r\n\r\n";
    is_request_sent_ = true;
    return Step::Moved;
  }
  std::array<char, kPart> space;  // NOLINT: filled by take_body
  const auto taken = TRY(request_parser_.take_body(client_.input, space.data(), space.size()));
  client_.input.erase(0, taken.consumed);
  std::string bytes(space.data(), taken.produced);
  if (terms_.body != nullptr) bytes = terms_.body->take(bytes);
  to_server_ = request_.is_chunked ? chunk_of(bytes) : std::move(bytes);
  if (taken.consumed > 0 || taken.produced > 0 || request_parser_.is_done()) return Step::Moved;
  if (client_.input.size() > kMostHeadBytes) {
    return failure(ErrorCode::Corrupt, "a chunk of the request has too long a head");
  }
  bool has_ended = false;
  const Step step = TRY(receive(client_, wait_up_, has_ended));
  if (has_ended) return failure(ErrorCode::Unavailable, "the request was cut off");
  return step;
}

Result<Exchange::Step> Exchange::take_response_head() {
  const std::size_t length = http::head_length(server_.input);
  if (length == 0) {
    if (server_.input.size() > kMostHeadBytes) {
      return failure(ErrorCode::Corrupt, "the head of the answer is too long");
    }
    bool has_ended = false;
    const Step step = TRY(receive(server_, wait_down_, has_ended));
    if (!has_ended) return step;
    return failure(ErrorCode::Unavailable, "the server hung up before it answered");
  }
  const std::string bytes = server_.input.substr(0, length);
  server_.input.erase(0, length);
  auto head = TRY(response_parser_.take_head(bytes, request_.named.method));
  const bool is_websocket = head.status == 101 && request_.wants_websocket &&
                            http::equal_in_any_case(head.headers.get("Upgrade"), "websocket");
  if (head.status == 101 && !is_websocket) {
    return failure(ErrorCode::Corrupt, "the server changed the protocol without being asked to");
  }
  if (head.status < 200 && !is_websocket) {  // an answer of its own follows
    response_parser_ = http::ResponseParser();
    return Step::Moved;
  }
  server_keeps_alive_ = head.keeps_alive;
  std::string reason = reason_in(bytes, head.status);
  if (terms_.filter != nullptr) TRY(terms_.filter->take_head(head, reason));
  if (terms_.filter != nullptr && terms_.filter->takes_over()) {
    phase_ = Phase::Done;
    return Step::Moved;
  }
  write_response_head(head, reason);
  phase_ = is_websocket ? Phase::Tunnel : Phase::Body;
  return Step::Moved;
}

void Exchange::write_response_head(const http::ResponseHead& head, std::string_view reason) {
  to_client_ = fmt::format("HTTP/1.1 {} {}\r\n", head.status, reason);
  for (const http::Header& header : head.headers) {
    // Alt-Svc would send clients to ports and protocols that do not exist here.
    const bool is_dropped = is_for_one_connection(head.headers, header.name) ||
                            http::equal_in_any_case(header.name, "Alt-Svc");
    if (!is_dropped) to_client_ += fmt::format("{}: {}\r\n", header.name, header.value);
  }
  if (head.status == 101) {
    to_client_ += "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    return;
  }
  write_framing(head);
}

void Exchange::write_framing(const http::ResponseHead& head) {
  const bool has_body = !response_parser_.is_done();
  const bool is_changed = has_body && terms_.filter != nullptr && terms_.filter->changes_length();
  const std::string_view length = head.headers.get("Content-Length");
  if (!length.empty() && head.status != 204 && !is_changed) {
    to_client_ += fmt::format("Content-Length: {}\r\n", length);
  } else if (has_body) {
    is_answer_chunked_ = request_.is_http_11;
    is_answer_to_end_ = !request_.is_http_11;
    if (is_answer_chunked_) to_client_ += "Transfer-Encoding: chunked\r\n";
  }
  const bool keeps_alive = request_.keeps_alive && !is_answer_to_end_;
  to_client_ += keeps_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
}

std::string Exchange::framed_answer(std::string_view bytes) const {
  return is_answer_chunked_ ? chunk_of(bytes) : std::string(bytes);
}

Result<Exchange::Step> Exchange::take_response_body() {
  if (response_parser_.is_done()) {
    if (terms_.filter != nullptr) to_client_ = framed_answer(terms_.filter->take_end());
    if (is_answer_chunked_) to_client_ += "0\r\n\r\n";
    phase_ = Phase::Done;
    return Step::Moved;
  }
  std::array<char, kPart> space;  // NOLINT: filled by take_body
  const auto taken = TRY(response_parser_.take_body(server_.input, space.data(), space.size()));
  server_.input.erase(0, taken.consumed);
  const std::string_view bytes(space.data(), taken.produced);
  to_client_ = framed_answer(terms_.filter != nullptr ? terms_.filter->take_part(bytes) : bytes);
  if (taken.consumed > 0 || taken.produced > 0 || response_parser_.is_done()) return Step::Moved;
  if (server_.input.size() > kMostHeadBytes) {
    return failure(ErrorCode::Corrupt, "a chunk of the answer has too long a head");
  }
  bool has_ended = false;
  const Step step = TRY(receive(server_, wait_down_, has_ended));
  if (has_ended) TRY(response_parser_.take_end());
  return step;
}

Result<Exchange::Step> Exchange::pass_tunnel(GateSide& from, std::string& to, bool& has_ended,
                                             Wait& wait) {
  wait = {};
  GateSide& other = &from == &client_ ? server_ : client_;
  if (!to.empty()) return send(other, to, wait);
  if (!from.input.empty()) {
    to.swap(from.input);
    return Step::Moved;
  }
  if (has_ended) return Step::Waits;
  const Step step = TRY(receive(from, wait, has_ended));
  if (has_ended) other.transport->end_writing();
  if (client_has_ended_ && server_has_ended_) phase_ = Phase::Done;
  return step;
}

Result<> Exchange::wait_for_either() {
  std::array<pollfd, 3> waits{};
  std::size_t count = 0;
  bool waits_for_client = false;
  for (const Wait& wait : {wait_up_, wait_down_}) {
    if (wait.transport == nullptr) continue;
    waits[count++] = {wait.transport->descriptor(), events_of(wait.progress), 0};
    waits_for_client = waits_for_client || wait.transport == client_.transport;
  }
  const bool is_tunnel = phase_ == Phase::Tunnel;
  // Without events: poll reports a client that is gone.
  if (!waits_for_client && !is_tunnel) waits[count++] = {client_.transport->descriptor(), 0, 0};
  const auto patience = waits_for_client && !is_tunnel ? terms_.times.client : terms_.times.server;
  const Deadline deadline = Deadline::in(patience);
  for (;;) {
    const int ready = ::poll(waits.data(), count, deadline.poll_timeout());
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return syscall_failure("poll");
    if (ready == 0) {
      return failure(ErrorCode::DeadlineExceeded, waits_for_client
                                                      ? "the client takes and sends no bytes"
                                                      : "the server did not answer in time");
    }
    if (!waits_for_client && !is_tunnel && waits[count - 1].revents != 0) {
      return failure(ErrorCode::Unavailable, "the client is gone");
    }
    return {};
  }
}

Exchange::After Exchange::after() const {
  if (!is_request_sent_ || !request_.keeps_alive || is_answer_to_end_ || client_has_ended_)
    return After::CloseBoth;
  const bool is_clean = response_parser_.is_done() && server_.input.empty();
  return server_keeps_alive_ && is_clean ? After::KeepBoth : After::CloseServer;
}

}  // namespace nutshell::egress
