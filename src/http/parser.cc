#include "http/parser.h"

#include <fmt/format.h>

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

namespace nutshell::http {
namespace {

namespace beast = boost::beast;
using beast::http::buffer_body;

std::string text_of(beast::string_view view) {
  return {view.data(), view.size()};
}

template <typename Fields>
Headers headers_of(const Fields& fields) {
  Headers headers;
  for (const auto& field : fields)
    headers.add(text_of(field.name_string()), text_of(field.value()));
  return headers;
}

template <typename Parser>
void prepare(Parser& parser) {
  // Callers apply their own bounds, so Beast's are turned off.
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
}

// Parses the next bytes of a body into `space`.
template <typename Parser>
Result<BodyStep> take(Parser& parser, std::string_view bytes, char* space, std::size_t size) {
  auto& body = parser.get().body();
  body.data = space;
  body.size = size;
  BodyStep step;
  // put() returns after each part of a chunked body, so it is called until it makes no progress.
  while (step.consumed < bytes.size() && !parser.is_done() && body.size > 0) {
    beast::error_code error;
    const std::size_t count = parser.put(
        boost::asio::const_buffer(bytes.data() + step.consumed, bytes.size() - step.consumed),
        error);
    step.consumed += count;
    if (error == beast::http::error::need_buffer) break;
    if (error && error != beast::http::error::need_more) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("the body is broken: {}", error.message()));
    }
    if (error == beast::http::error::need_more || count == 0) break;
  }
  step.produced = size - body.size;
  return step;
}

// Refuses folded lines and bare line feeds: some parsers read such text as one line and others as
// two.
std::optional<Refusal> refuse_ambiguous(std::string_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    const char letter = head[i];
    if (letter == '\0') return Refusal{400, "the head has a NUL in it"};
    if (letter != '\n') continue;
    if (i == 0 || head[i - 1] != '\r') return Refusal{400, "a line of the head ends in a bare LF"};
    const bool goes_on = i + 1 < head.size() && (head[i + 1] == ' ' || head[i + 1] == '\t');
    if (goes_on) return Refusal{400, "a line of the head is folded"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_fields(const Headers& headers) {
  const std::size_t hosts = headers.count("Host");
  if (hosts > 1) return Refusal{400, "more than one Host"};
  if (headers.count("Content-Length") > 1) return Refusal{400, "more than one Content-Length"};
  const std::string_view length = headers.get("Content-Length");
  if (length.find_first_not_of("0123456789") != std::string_view::npos) {
    return Refusal{400, "Content-Length is no number"};
  }
  if (headers.count("Transfer-Encoding") > 1) {
    return Refusal{400, "more than one Transfer-Encoding"};
  }
  if (const std::string* encoding = headers.find("Transfer-Encoding")) {
    if (headers.count("Content-Length") > 0) {
      return Refusal{400, "both Content-Length and Transfer-Encoding"};
    }
    if (!equal_in_any_case(*encoding, "chunked")) {
      return Refusal{501, "the only Transfer-Encoding is chunked"};
    }
  }
  return std::nullopt;
}

}  // namespace

std::size_t head_length(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

struct RequestParser::State {
  beast::http::request_parser<buffer_body> parser;
};

RequestParser::RequestParser() : state_(std::make_unique<State>()) {
  prepare(state_->parser);
}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

std::optional<Refusal> RequestParser::take_head(std::string_view bytes, RequestHead& head) {
  if (auto refusal = refuse_ambiguous(bytes)) return refusal;
  auto& parser = state_->parser;
  beast::error_code error;
  parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error || !parser.is_header_done()) {
    return Refusal{400, fmt::format("no HTTP request: {}", error.message())};
  }
  const auto& message = parser.get();
  head.headers = headers_of(message);
  if (auto refusal = refuse_fields(head.headers)) return refusal;
  if (message.version() == 11 && head.headers.count("Host") == 0) return Refusal{400, "no Host"};
  if (message.version() == 10 && parser.chunked()) return Refusal{400, "chunks in HTTP/1.0"};
  auto target = parse_target({message.target().data(), message.target().size()});
  if (!target) return Refusal{400, target.error().message};
  head.method = text_of(message.method_string());
  head.target = std::move(*target);
  head.keeps_alive = parser.keep_alive();
  head.is_http_11 = message.version() == 11;
  head.is_chunked = parser.chunked();
  const auto length = parser.content_length();
  head.content_length.reset();
  if (length) head.content_length = *length;
  return std::nullopt;
}

Result<BodyStep> RequestParser::take_body(std::string_view bytes, char* space, std::size_t size) {
  return take(state_->parser, bytes, space, size);
}

bool RequestParser::is_done() const {
  return state_->parser.is_done();
}

struct ResponseParser::State {
  beast::http::response_parser<buffer_body> parser;
};

ResponseParser::ResponseParser() : state_(std::make_unique<State>()) {
  prepare(state_->parser);
}
ResponseParser::ResponseParser(ResponseParser&&) noexcept = default;
ResponseParser& ResponseParser::operator=(ResponseParser&&) noexcept = default;
ResponseParser::~ResponseParser() = default;

Result<ResponseHead> ResponseParser::take_head(std::string_view bytes, std::string_view method) {
  auto& parser = state_->parser;
  parser.skip(method == "HEAD");
  beast::error_code error;
  parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error || !parser.is_header_done()) {
    return failure(ErrorCode::Corrupt, fmt::format("no HTTP response: {}", error.message()));
  }
  ResponseHead head;
  head.status = static_cast<int>(parser.get().result_int());
  head.headers = headers_of(parser.get());
  if (refuse_fields(head.headers)) {
    return failure(ErrorCode::Corrupt, "the response says two things about its length");
  }
  head.keeps_alive = parser.keep_alive();
  return head;
}

Result<BodyStep> ResponseParser::take_body(std::string_view bytes, char* space, std::size_t size) {
  auto step = take(state_->parser, bytes, space, size);
  if (!step) step.error().code = ErrorCode::Corrupt;
  return step;
}

Result<> ResponseParser::take_end() {
  beast::error_code error;
  state_->parser.put_eof(error);
  if (error) return failure(ErrorCode::Unavailable, "the response was cut off");
  return {};
}

bool ResponseParser::is_done() const {
  return state_->parser.is_done();
}

}  // namespace nutshell::http
