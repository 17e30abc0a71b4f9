#include "egress/inspect/gate_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "egress/inspect/host_port.h"

namespace nutshell::egress {
namespace {

using http::equal_in_any_case;
using http::Refusal;

constexpr std::size_t kMostMethodBytes = 32;
constexpr std::size_t kMostTargetBytes = 16U << 10U;

struct RequestLine {
  std::string_view method;
  std::string_view target;
  std::string_view version;
  std::string_view rest;  // of the head, from the end of the line on
};

std::optional<RequestLine> split_line(std::string_view head) {
  const std::size_t end = head.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = head.substr(0, end);
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return RequestLine{line.substr(0, first), line.substr(first + 1, second - first - 1),
                     line.substr(second + 1), head.substr(end)};
}

std::optional<Refusal> refuse_method(std::string_view method) {
  const bool is_word = std::all_of(method.begin(), method.end(), [](char letter) {
    return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
  });
  if (method.empty() || method.size() > kMostMethodBytes || !is_word) {
    return Refusal{400, "the method of the request is not a word"};
  }
  // A tunnel would carry what nothing reads, and TRACE returns a request with its secrets.
  if (method == "CONNECT" || method == "TRACE") {
    return Refusal{405, fmt::format("{} requests are not passed on", method)};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_letters(std::string_view target) {
  if (target.size() > kMostTargetBytes) return Refusal{414, "the request target is too long"};
  for (const char letter : target) {
    if (letter <= ' ' || letter >= '\x7f' || letter == '\\' || letter == '#') {
      return Refusal{400, "the request target has a letter that must be written as a % escape"};
    }
  }
  return std::nullopt;
}

// The authority of "http://host/path" is cut off into `authority`.
std::optional<Refusal> cut_authority(std::string_view scheme, std::string& target,
                                     std::string& authority) {
  const std::size_t colon = target.find("://");
  const std::size_t slash = target.find('/');
  if (colon == std::string::npos || slash < colon) {
    return Refusal{400, "the request target is neither a path nor a URL"};
  }
  if (!equal_in_any_case(std::string_view(target).substr(0, colon), scheme)) {
    return Refusal{400, fmt::format("the request's URL is not of the scheme {}", scheme)};
  }
  const std::size_t begin = colon + 3;
  const std::size_t end = std::min(target.find_first_of("/?", begin), target.size());
  authority = target.substr(begin, end - begin);
  if (authority.empty()) return Refusal{400, "the request's URL has no host"};
  target.erase(0, end);
  if (target.empty() || target.front() == '?') target.insert(0, "/");
  return std::nullopt;
}

// Servers differ in which of these lead upwards: "%2e%2e", "..%2f", "..;a", "..%5c".
bool leads_upwards(const std::string& segment) {
  std::string_view rest = segment;
  for (;;) {
    const std::size_t end = std::min(rest.find_first_of("/\\"), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::string_view name = part.substr(0, part.find(';'));
    if (name == "." || name == "..") return true;
    if (end == rest.size()) return false;
    rest.remove_prefix(end + 1);
  }
}

std::optional<Refusal> refuse_path(const http::Target& target) {
  if (std::any_of(target.segments.begin(), target.segments.end(), leads_upwards)) {
    return Refusal{400, "the request target has . or .. in its path"};
  }
  return std::nullopt;
}

std::optional<Refusal> take_host(const std::string& authority, const GateScheme& scheme,
                                 const http::Headers& headers, GateRequest& request) {
  const std::string* field = headers.find("Host");
  if (field == nullptr) return Refusal{400, "the request has no Host"};
  const auto host = parse_host_port(*field, scheme.default_port);
  if (!host) return Refusal{400, "the request's Host is not a name or address"};
  if (!authority.empty() && parse_host_port(authority, scheme.default_port) != host) {
    return Refusal{400, "the request's URL and its Host name different hosts"};
  }
  request.host_field = *field;
  request.named.host = host->host;
  request.named.port = host->port;
  return std::nullopt;
}

std::optional<Refusal> take_expectation(const http::Headers& headers, GateRequest& request) {
  const std::string* expectation = headers.find("Expect");
  if (expectation == nullptr) return std::nullopt;
  if (headers.count("Expect") > 1 || !equal_in_any_case(*expectation, "100-continue")) {
    return Refusal{417, "the only expectation that is passed on is 100-continue"};
  }
  request.expects_continue = request.is_http_11;
  return std::nullopt;
}

}  // namespace

bool is_for_one_connection(const http::Headers& headers, std::string_view name) {
  static constexpr std::array<std::string_view, 11> kAlways = {"Connection",
                                                               "Keep-Alive",
                                                               "Proxy-Connection",
                                                               "Proxy-Authenticate",
                                                               "Proxy-Authorization",
                                                               "TE",
                                                               "Trailer",
                                                               "Transfer-Encoding",
                                                               "Upgrade",
                                                               "HTTP2-Settings",
                                                               "Content-Length"};
  const auto is_name = [&](std::string_view one) { return equal_in_any_case(one, name); };
  return std::any_of(kAlways.begin(), kAlways.end(), is_name) ||
         headers.has_word("Connection", name);
}

std::optional<http::Refusal> read_request(std::string_view head, const GateScheme& scheme,
                                          http::RequestParser& parser, GateRequest& request) {
  request.named.scheme = scheme.name;
  const auto line = split_line(head);
  if (!line) return Refusal{400, "this is no HTTP request"};
  if (line->version.find('\n') != std::string_view::npos) {
    return Refusal{400, "a line of the head ends in a bare LF"};
  }
  if (auto refusal = refuse_method(line->method)) return refusal;
  request.named.method = line->method;
  if (line->version != "HTTP/1.1" && line->version != "HTTP/1.0") {
    return Refusal{505, "only HTTP/1.1 and HTTP/1.0 are passed on"};
  }
  if (auto refusal = refuse_letters(line->target)) return refusal;
  request.target = line->target;
  std::string authority;
  const bool is_whole_server = request.target == "*" && line->method == "OPTIONS";
  if (!is_whole_server && (request.target.empty() || request.target.front() != '/')) {
    if (auto refusal = cut_authority(scheme.name, request.target, authority)) return refusal;
  }
  const std::string path = is_whole_server ? "/" : request.target;
  http::RequestHead parsed;
  if (auto refusal = parser.take_head(
          fmt::format("{} {} {}{}", line->method, path, line->version, line->rest), parsed)) {
    return refusal;
  }
  request.named.path = parsed.target.path;
  request.keeps_alive = parsed.keeps_alive;
  request.is_http_11 = parsed.is_http_11;
  request.is_chunked = parsed.is_chunked;
  request.content_length = parsed.content_length;
  if (auto refusal = take_host(authority, scheme, parsed.headers, request)) return refusal;
  if (auto refusal = refuse_path(parsed.target)) return refusal;
  if (auto refusal = take_expectation(parsed.headers, request)) return refusal;
  request.wants_websocket = request.is_http_11 && request.named.method == "GET" &&
                            !request.has_body() &&
                            parsed.headers.has_word("Connection", "Upgrade") &&
                            equal_in_any_case(parsed.headers.get("Upgrade"), "websocket");
  for (const http::Header& header : parsed.headers) {
    const bool is_ours = is_for_one_connection(parsed.headers, header.name) ||
                         equal_in_any_case(header.name, "Host") ||
                         equal_in_any_case(header.name, "Expect");
    if (!is_ours) request.headers.add(header.name, header.value);
  }
  return std::nullopt;
}

std::string write_request(const GateRequest& request, std::optional<std::uint64_t> length) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.named.method,
                                 request.target, request.host_field);
  for (const http::Header& header : request.headers)
    head += fmt::format("{}: {}\r\n", header.name, header.value);
  if (request.wants_websocket) head += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  if (length) {
    head += fmt::format("Content-Length: {}\r\n", *length);
  } else if (request.has_body()) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  return head + "\r\n";
}

}  // namespace nutshell::egress
