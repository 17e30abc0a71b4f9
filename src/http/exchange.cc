#include "http/exchange.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "http/connection.h"

namespace nutshell::http {
namespace {

// A body that arrives more slowly than this, after a grace period, is given up.
constexpr std::uint64_t kLeastBytesPerSecond = 4096;

// Refuses control characters in a header: a line break would forge another header.
bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 && letter != '\t') || byte == 0x7f;
  });
}

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

Exchange::Exchange(Connection& connection, const Terms& terms)
    : connection_(connection), terms_(terms) {
  if (terms.bodies != nullptr) body_share_ = Shares::Share(*terms.bodies, connection.admission());
}

const std::string& Exchange::method() const {
  return connection_.head().method;
}
const Target& Exchange::target() const {
  return connection_.head().target;
}
const Headers& Exchange::headers() const {
  return connection_.head().headers;
}
const Remote& Exchange::remote() const {
  return connection_.remote();
}

std::optional<std::uint64_t> Exchange::content_length() const {
  return connection_.head().content_length;
}

bool Exchange::server_is_stopping() const {
  return terms_.is_stopping != nullptr && *terms_.is_stopping;
}

Result<> Exchange::send(std::string_view bytes) {
  auto sent = connection_.transport().write(bytes, Deadline::in(terms_.stall_time));
  if (!sent) keeps_alive_ = false;
  return sent;
}

Result<> Exchange::send_continue() {
  if (has_continued_) return {};
  has_continued_ = true;
  if (!headers().has_word("Expect", "100-continue") || connection_.holds_input()) return {};
  return send("HTTP/1.1 100 Continue\r\n\r\n");
}

Result<std::string> Exchange::read_body_part(std::size_t most) {
  if (!connection_.has_whole_body()) TRY(send_continue());
  const auto begin = Clock::now();
  const auto earned = std::chrono::seconds(body_bytes_ / kLeastBytesPerSecond);
  const auto patience =
      std::min<Clock::duration>(terms_.stall_time, terms_.stall_time + earned - body_wait_);
  auto piece = connection_.read_body(most, Deadline::in(patience), terms_.body_wait);
  body_wait_ += Clock::now() - begin;
  if (!piece) {
    keeps_alive_ = false;
    may_keep_alive_ = false;
    return piece;
  }
  body_bytes_ += piece->size();
  return piece;
}

Result<std::string> Exchange::read_body(std::size_t limit) {
  const auto too_long = [&] {
    return failure(ErrorCode::TooLarge, fmt::format("the body is longer than {} bytes", limit));
  };
  if (content_length() && *content_length() > limit) return too_long();
  std::string body;
  for (;;) {
    std::string piece = TRY(read_body_part(64U << 10U));
    if (piece.empty()) return body;
    if (body.size() + piece.size() > limit) return too_long();
    if (!body_share_.take(piece.size())) {
      may_keep_alive_ = false;
      return failure(ErrorCode::Unavailable,
                     "the bodies of other requests take all the memory there is for them; try "
                     "again");
    }
    body += piece;
  }
}

Result<> Exchange::discard_body(std::size_t limit) {
  const auto too_long = [&] {
    may_keep_alive_ = false;
    return failure(ErrorCode::TooLarge, fmt::format("the body is longer than {} bytes", limit));
  };
  if (content_length() && *content_length() > limit) return too_long();
  std::size_t size = 0;
  for (;;) {
    const std::string piece = TRY(read_body_part(16U << 10U));
    if (piece.empty()) return {};
    size += piece.size();
    if (size > limit) return too_long();
  }
}

Result<std::string> Exchange::head_of(int status, const Headers& headers) {
  if (state_ != State::Open) return failure(ErrorCode::Internal, "the request is answered already");
  // Unread bytes of a body would be parsed as the next request.
  keeps_alive_ = may_keep_alive_ && terms_.may_keep_alive && connection_.head().keeps_alive &&
                 connection_.has_whole_body() && !server_is_stopping();
  status_ = status;
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  for (const Header& header : headers) {
    if (!is_one_line(header.name) || !is_one_line(header.value)) {
      return failure(ErrorCode::Internal,
                     fmt::format("header {} has control characters", header.name));
    }
    head += header.name + ": " + header.value + "\r\n";
  }
  if (status != 101 && !keeps_alive_) head += "Connection: close\r\n";
  return head;
}

Result<> Exchange::respond(int status, const Headers& headers, std::string_view body) {
  std::string message = TRY(head_of(status, headers));
  if (!has_no_body(status)) message += fmt::format("Content-Length: {}\r\n", body.size());
  message += "\r\n";
  if (method() != "HEAD" && !has_no_body(status)) message += body;
  state_ = State::Done;
  return send(message);
}

Result<> Exchange::begin_stream(int status, const Headers& headers) {
  std::string message = TRY(head_of(status, headers));
  is_chunked_ = connection_.head().is_http_11;
  if (!is_chunked_) keeps_alive_ = false;
  message += is_chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  state_ = method() == "HEAD" ? State::Done : State::Streaming;
  return send(message);
}

Result<> Exchange::write(std::string_view piece) {
  if (state_ == State::Done && method() == "HEAD") return {};
  if (state_ != State::Streaming) return failure(ErrorCode::Internal, "no stream was begun");
  if (piece.empty()) return {};  // an empty chunk would end the body
  if (!is_chunked_) return send(piece);
  std::string chunk = fmt::format("{:x}\r\n", piece.size());
  chunk += piece;
  chunk += "\r\n";
  return send(chunk);
}

Result<> Exchange::finish() {
  if (state_ != State::Streaming) return {};
  state_ = State::Done;
  if (!is_chunked_) return {};
  return send("0\r\n\r\n");
}

int Exchange::hang_up_descriptor() {
  return connection_.hang_up_descriptor();
}

bool Exchange::client_is_gone() {
  if (connection_.is_cut()) return true;
  pollfd watched{hang_up_descriptor(), POLLIN, 0};
  return watched.fd >= 0 && ::poll(&watched, 1, 0) > 0;
}

Result<> Exchange::switch_protocols(std::string_view protocol, const Headers& more) {
  if (connection_.head().method != "GET" && !connection_.has_whole_body()) {
    return failure(ErrorCode::InvalidArgument, "an upgrade has no body");
  }
  std::string head = TRY(head_of(101, more));
  head += fmt::format("Connection: Upgrade\r\nUpgrade: {}\r\n\r\n", protocol);
  keeps_alive_ = false;
  state_ = State::Taken;
  return send(head);
}

Result<UniqueFd> Exchange::upgrade_raw(std::string_view protocol) {
  if (!connection_.transport().is_bare()) {
    return failure(ErrorCode::Unsupported, "a bare socket cannot be had inside TLS");
  }
  if (connection_.holds_input()) {
    return failure(ErrorCode::InvalidArgument, "bytes came before the upgrade was answered");
  }
  TRY(switch_protocols(protocol, {}));
  return connection_.release_transport()->release();
}

Result<> Exchange::upgrade_and_relay(std::string_view protocol, const RelayTarget& target) {
  if (connection_.holds_input()) {
    return failure(ErrorCode::InvalidArgument, "bytes came before the upgrade was answered");
  }
  TRY(switch_protocols(protocol, target.headers));
  return relay(connection_.transport(), target.stream,
               {[this, filter = target.filter] {
                  if (connection_.is_cut()) return true;
                  return server_is_stopping() && (filter == nullptr || filter->is_idle());
                },
                target.filter});
}

Result<WebSocket> Exchange::upgrade_websocket(std::size_t most_message_bytes,
                                              std::string_view subprotocol) {
  const bool is_asked = method() == "GET" && headers().has_word("Upgrade", "websocket") &&
                        headers().has_word("Connection", "Upgrade");
  const std::string* key = headers().find("Sec-WebSocket-Key");
  if (!is_asked || key == nullptr || key->size() != 24 ||
      headers().get("Sec-WebSocket-Version") != "13") {
    return failure(ErrorCode::InvalidArgument, "not a WebSocket handshake of version 13");
  }
  Headers more{{"Sec-WebSocket-Accept", websocket_accept_of(*key)}};
  if (!subprotocol.empty()) more.add("Sec-WebSocket-Protocol", std::string(subprotocol));
  TRY(switch_protocols("websocket", more));
  WebSocket::Options options;
  options.most_message_bytes = most_message_bytes;
  options.write_stall = terms_.stall_time;
  std::string early = connection_.release_input();
  return WebSocket(connection_.release_transport(), std::move(early), options);
}

}  // namespace nutshell::http
