#include "http/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::http {
namespace {

constexpr std::size_t kReadBytes = 64U << 10U;

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

Result<std::string> head_of(const Client::Request& request, const std::string& host) {
  bool is_sound = is_one_line(request.target) && request.target.find(' ') == std::string::npos;
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target, host);
  for (const Header& header : request.headers) {
    is_sound = is_sound && is_one_line(header.name) && is_one_line(header.value);
    head += header.name + ": " + header.value + "\r\n";
  }
  if (!is_sound) {
    return failure(ErrorCode::InvalidArgument, "the request's target or headers break its lines");
  }
  if (request.source) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    head += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  return head + "\r\n";
}

}  // namespace

Dial dial_unix(std::filesystem::path path) {
  return [path = std::move(path)](const Deadline& /*a Unix socket answers at once*/) {
    return connect_to(path, SocketKind::Stream);
  };
}

void Client::close() {
  transport_.reset();
  input_.clear();
  is_in_body_ = false;
}

// The server may have closed an idle connection, or sent bytes that no request asked for.
bool Client::is_stale() const {
  pollfd watched{transport_->descriptor(), POLLIN, 0};
  return ::poll(&watched, 1, 0) != 0 || !input_.empty();
}

Result<> Client::open(const Deadline& deadline) {
  if (transport_ && (is_in_body_ || !keeps_alive_ || is_stale())) close();
  if (transport_) return {};
  transport_ = TRY(options_.make_transport(TRY(options_.dial(deadline))));
  if (auto shaken = transport_->finish_handshake(deadline); !shaken) {
    close();
    return Failure(shaken.error());
  }
  return {};
}

Result<> Client::send_source(const Request& request, const Deadline& deadline) {
  for (;;) {
    const std::string piece = TRY(request.source(kReadBytes));
    std::string chunk = fmt::format("{:x}\r\n", piece.size());
    chunk += piece;
    chunk += "\r\n";
    TRY(transport_->write(chunk, deadline));
    if (piece.empty()) return {};
  }
}

Result<> Client::send_request(const Request& request, const Deadline& deadline) {
  std::string head = TRY(head_of(request, options_.host));
  TRY(open(deadline));
  if (request.source) {
    TRY(transport_->write(head, deadline));
    return send_source(request, deadline);
  }
  return transport_->write(head + request.body, deadline);
}

Result<> Client::read_head_bytes(Reading reading, const Deadline& deadline) {
  std::string space(kReadBytes, '\0');
  while (head_length(input_) == 0) {
    if (input_.size() > options_.most_head_bytes) {
      return failure(ErrorCode::Corrupt, "the head of the response is too long");
    }
    // Reads byte by byte where the bytes after the head belong to the caller. A head is short.
    const std::size_t most = reading == Reading::Exactly ? 1 : space.size();
    const std::size_t count = TRY(transport_->read(space.data(), most, deadline));
    if (count == 0) return failure(ErrorCode::Unavailable, "the server hung up without an answer");
    input_.append(space.data(), count);
  }
  return {};
}

Result<ResponseHead> Client::read_head(std::string_view method, Reading reading,
                                       const Deadline& deadline) {
  for (;;) {
    TRY(read_head_bytes(reading, deadline));
    const std::size_t length = head_length(input_);
    parser_ = ResponseParser();
    ResponseHead head = TRY(parser_.take_head(std::string_view(input_).substr(0, length), method));
    input_.erase(0, length);
    if (head.status >= 100 && head.status < 200 && head.status != 101) continue;
    keeps_alive_ = head.keeps_alive;
    is_in_body_ = !parser_.is_done();
    return head;
  }
}

Result<ResponseHead> Client::begin(const Request& request, const Deadline& deadline) {
  if (auto sent = send_request(request, deadline); !sent) {
    // A server that refuses a body answers before it has read the whole body.
    const bool may_have_answered = transport_ && sent.error().code == ErrorCode::Unavailable;
    if (!may_have_answered || is_in_body_) {
      close();
      return Failure(sent.error());
    }
    keeps_alive_ = false;
  }
  auto head = read_head(request.method, Reading::Ahead, deadline);
  if (!head) close();
  return head;
}

Result<std::string> Client::read_part(std::size_t most, const Deadline& deadline) {
  std::string piece(std::min(most, kReadBytes), '\0');
  while (is_in_body_) {
    auto step = parser_.take_body(input_, piece.data(), piece.size());
    if (!step) close();
    const BodyStep taken = TRY(step);
    input_.erase(0, taken.consumed);
    is_in_body_ = !parser_.is_done();
    if (taken.produced > 0) {
      piece.resize(taken.produced);
      return piece;
    }
    if (!is_in_body_) break;
    if (input_.size() > kReadBytes) {
      close();
      return failure(ErrorCode::Corrupt, "a chunk's head is too long");
    }
    const std::size_t before = input_.size();
    input_.resize(before + kReadBytes);
    auto got = transport_->read(input_.data() + before, kReadBytes, deadline);
    input_.resize(before + (got ? *got : 0));
    if (got && *got > 0) continue;
    Result<> ended;
    if (got) ended = parser_.take_end();
    close();
    TRY(got);
    TRY(ended);
  }
  return std::string();
}

Result<Client::Response> Client::send(const Request& request, const Deadline& deadline,
                                      std::size_t limit) {
  ResponseHead head = TRY(begin(request, deadline));
  Response response{head.status, std::move(head.headers), {}};
  for (;;) {
    const std::string piece = TRY(read_part(kReadBytes, deadline));
    if (piece.empty()) return response;
    if (response.body.size() + piece.size() > limit) {
      close();
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("the response is longer than {} bytes", limit));
    }
    response.body += piece;
  }
}

Result<ResponseHead> Client::begin_upgrade(const Request& request, std::string_view protocol,
                                           Reading reading, const Deadline& deadline) {
  Request asking = request;
  asking.headers.add("Connection", "Upgrade");
  asking.headers.add("Upgrade", std::string(protocol));
  TRY(send_request(asking, deadline));
  return read_head(request.method, reading, deadline);
}

std::string Client::read_short_body(std::size_t most, const Deadline& deadline) {
  std::string text;
  while (text.size() < most) {
    auto piece = read_part(most, deadline);
    if (!piece || piece->empty()) break;
    text += *piece;
  }
  close();
  return text;
}

Result<ResponseHead> Client::ask_upgrade(const Request& request, std::string_view protocol,
                                         Reading reading, const Deadline& deadline) {
  ResponseHead head = TRY(begin_upgrade(request, protocol, reading, deadline));
  if (head.status == 101 || head.status == 200) return head;
  const std::string text = read_short_body(4096, deadline);
  const ErrorCode code = head.status == 404 ? ErrorCode::NotFound : ErrorCode::Unavailable;
  return failure(
      code, fmt::format("the server answers {} {}: {}", head.status, reason_of(head.status), text));
}

Result<Client::Upgraded> Client::upgrade(const Request& request, std::string_view protocol,
                                         const Deadline& deadline) {
  TRY(ask_upgrade(request, protocol, Reading::Ahead, deadline));
  Upgraded upgraded{std::move(transport_), std::move(input_)};
  close();
  return upgraded;
}

Result<UniqueFd> Client::upgrade_raw(const Request& request, std::string_view protocol,
                                     const Deadline& deadline) {
  TRY(ask_upgrade(request, protocol, Reading::Exactly, deadline));
  if (!transport_->is_bare()) {
    close();
    return failure(ErrorCode::Unsupported, "a bare socket cannot be had inside TLS");
  }
  UniqueFd socket = transport_->release();
  close();
  return socket;
}

Result<Client::UpgradeAnswer> Client::request_upgrade(const Request& request,
                                                      std::string_view protocol,
                                                      const Deadline& deadline) {
  constexpr std::size_t kMostRefusalBytes = 64U << 10U;
  auto head = begin_upgrade(request, protocol, Reading::Exactly, deadline);
  if (!head) close();
  ResponseHead answered = TRY(std::move(head));
  UpgradeAnswer answer{answered.status, std::move(answered.headers), nullptr, {}};
  if (answer.status != 101) {
    answer.body = read_short_body(kMostRefusalBytes, deadline);
    return answer;
  }
  answer.transport = std::move(transport_);
  close();
  return answer;
}

Result<WebSocket> Client::upgrade_websocket(Request request, const Deadline& deadline,
                                            std::size_t most_message_bytes) {
  const std::string key = new_websocket_key();
  request.headers.add("Sec-WebSocket-Key", key);
  request.headers.add("Sec-WebSocket-Version", "13");
  const ResponseHead head = TRY(ask_upgrade(request, "websocket", Reading::Ahead, deadline));
  if (head.status != 101 || head.headers.get("Sec-WebSocket-Accept") != websocket_accept_of(key)) {
    close();
    return failure(ErrorCode::Corrupt, "the server does not speak WebSocket");
  }
  WebSocket::Options options;
  options.role = WebSocket::Role::Client;
  options.most_message_bytes = most_message_bytes;
  std::string early = std::move(input_);
  WebSocket socket(std::move(transport_), std::move(early), options);
  close();
  return socket;
}

}  // namespace nutshell::http
