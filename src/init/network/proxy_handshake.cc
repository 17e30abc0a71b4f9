#include "init/network/proxy_handshake.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace nutshell::init {
namespace {

constexpr std::size_t kMostHead = 32U << 10U;
constexpr std::size_t kMostName = 253;
constexpr char kSocks = 5;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLineEnd = "\r\n";

// Replies of SOCKS5 (RFC 1928).
enum class Socks : std::uint8_t {
  Succeeded = 0,
  Failure = 1,
  NotAllowed = 2,
  NetworkUnreachable = 3,
  HostUnreachable = 4,
  Refused = 5,
  UnknownCommand = 7,
  UnknownAddress = 8,
};

std::string socks_reply(Socks code) {
  std::string reply = {kSocks, static_cast<char>(code), 0, 1};
  return reply + std::string(6, '\0');
}

std::string http_reply(std::string_view status, std::string_view reason) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}\n",
      status, reason.size() + 1, reason);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool is_token_character(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c != '.' && c != '-' && c != '_' && is_name_character(c)) ||
         kMarks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool is_same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

// Fields that are for the proxy, or that init sets itself.
bool is_of_connection(std::string_view field) {
  constexpr std::array<std::string_view, 4> kFields = {"connection", "keep-alive",
                                                       "proxy-connection", "proxy-authorization"};
  return std::any_of(kFields.begin(), kFields.end(),
                     [&](std::string_view known) { return is_same_word(known, field); });
}

// Text that every reader splits into the same lines.
bool is_clean_head(std::string_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    const char c = head[i];
    if (c == '\r' && (i + 1 == head.size() || head[i + 1] != '\n')) return false;
    if (c == '\n' && (i == 0 || head[i - 1] != '\r')) return false;
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    if (is_control && c != '\r' && c != '\n' && c != '\t') return false;
  }
  return true;
}

}  // namespace

ProxyHandshake::Step ProxyHandshake::take(std::string_view bytes) {
  incoming_ += bytes;
  if (incoming_.empty()) return Step::NeedsMore;
  if (kind_ == Kind::Unknown && incoming_[0] == kSocks) kind_ = Kind::SocksGreeting;
  if (kind_ == Kind::SocksGreeting) {
    const Step step = take_socks_greeting();
    if (kind_ == Kind::SocksGreeting) return step;
  }
  return kind_ == Kind::SocksRequest ? take_socks_request() : take_http();
}

std::string ProxyHandshake::reply() {
  return std::exchange(reply_, {});
}

std::string ProxyHandshake::first_bytes() {
  return std::exchange(incoming_, {});
}

ProxyHandshake::Step ProxyHandshake::fail(std::string_view reply) {
  reply_ += reply;
  return Step::Failed;
}

// Version, count of methods, methods. The only one is that without a password.
ProxyHandshake::Step ProxyHandshake::take_socks_greeting() {
  if (incoming_.size() < 2) return Step::NeedsMore;
  const std::size_t size = 2U + static_cast<unsigned char>(incoming_[1]);
  if (incoming_.size() < size) return Step::NeedsMore;
  const bool is_offered =
      std::string_view(incoming_).substr(2, size - 2).find('\0') != std::string_view::npos;
  if (!is_offered) return fail(std::string{kSocks, '\xff'});
  incoming_.erase(0, size);
  reply_ += std::string{kSocks, '\0'};
  kind_ = Kind::SocksRequest;
  return Step::NeedsMore;
}

// Version, command, zero, kind of address, address, port.
ProxyHandshake::Step ProxyHandshake::take_socks_request() {
  constexpr std::size_t kHeader = 4;
  constexpr char kConnect = 1;
  if (incoming_.size() <= kHeader) return Step::NeedsMore;
  if (incoming_[0] != kSocks || incoming_[2] != 0) return fail(socks_reply(Socks::Failure));
  if (incoming_[1] != kConnect) return fail(socks_reply(Socks::UnknownCommand));
  std::size_t at = kHeader;
  std::size_t size = 0;
  switch (incoming_[3]) {
    case 1:
      size = 4;
      break;
    case 3:
      size = static_cast<unsigned char>(incoming_[at++]);
      break;
    case 4:
      size = 16;
      break;
    default:
      return fail(socks_reply(Socks::UnknownAddress));
  }
  if (incoming_.size() < at + size + 2) return Step::NeedsMore;
  const std::string host = incoming_.substr(at, size);
  if (incoming_[3] != 3) {
    address_ = host;
  } else if (!read_host(host)) {
    return fail(socks_reply(Socks::Failure));
  }
  port_ = static_cast<std::uint16_t>(static_cast<unsigned char>(incoming_[at + size]) << 8U |
                                     static_cast<unsigned char>(incoming_[at + size + 1]));
  incoming_.erase(0, at + size + 2);
  return Step::IsReady;
}

bool ProxyHandshake::read_host(std::string_view host) {
  std::array<char, 16> bytes{};
  const std::string text(host);
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    address_.assign(bytes.data(), 4);
    return text.find('\0') == std::string::npos;
  }
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    address_.assign(bytes.data(), bytes.size());
    return text.find('\0') == std::string::npos;
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty() || host.size() > kMostName) return false;
  if (!std::all_of(host.begin(), host.end(), is_name_character)) return false;
  name_ = host;
  return true;
}

// A host, and a port behind a colon unless there is a default.
bool ProxyHandshake::read_authority(std::string_view authority, std::uint16_t default_port) {
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = authority.substr(0, colon);
  port_ = default_port;
  if (colon != std::string_view::npos) {
    const std::string_view digits = authority.substr(colon + 1);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port_);
    if (error != std::errc() || stop != end) return false;
  }
  if (port_ == 0) return false;
  if (!host.starts_with('[')) return host.find(':') == std::string_view::npos && read_host(host);
  if (!host.ends_with(']')) return false;
  host = host.substr(1, host.size() - 2);
  return host.find(':') != std::string_view::npos && read_host(host);
}

ProxyHandshake::Step ProxyHandshake::take_http() {
  const std::string malformed = http_reply(
      "400 Bad Request", "This proxy understands CONNECT, and requests for http:// addresses.");
  const std::size_t end = incoming_.find(kHeadEnd);
  if (end == std::string::npos) {
    if (incoming_.size() > kMostHead) return fail(malformed);
    return is_token_character(incoming_[0]) ? Step::NeedsMore : fail(malformed);
  }
  if (end > kMostHead) return fail(malformed);
  const std::string head = incoming_.substr(0, end + kLineEnd.size());
  if (!is_clean_head(head)) return fail(malformed);
  incoming_.erase(0, end + kHeadEnd.size());
  const std::size_t line_end = head.find(kLineEnd);
  const std::string_view line = std::string_view(head).substr(0, line_end);
  const std::string_view fields = std::string_view(head).substr(line_end + kLineEnd.size());
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return fail(malformed);
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return fail(malformed);
  if (method == "CONNECT") {
    kind_ = Kind::Connect;
    return read_authority(target, 0) ? Step::IsReady : fail(malformed);
  }
  kind_ = Kind::Forward;
  return read_forward(method, target, version, fields) ? Step::IsReady : fail(malformed);
}

// Turns the request into the one that a server expects. The connection is for this request alone,
// because the next one could name another host.
bool ProxyHandshake::read_forward(std::string_view method, std::string_view target,
                                  std::string_view version, std::string_view fields) {
  constexpr std::string_view kScheme = "http://";
  constexpr std::uint16_t kPort = 80;
  if (!is_token(method) || !is_same_word(target.substr(0, kScheme.size()), kScheme)) return false;
  target.remove_prefix(kScheme.size());
  if (target.find_first_of("#\t") != std::string_view::npos) return false;
  const std::size_t path_at = std::min(target.find_first_of("/?"), target.size());
  if (!read_authority(target.substr(0, path_at), kPort)) return false;
  const std::string_view path = target.substr(path_at);
  std::string request =
      fmt::format("{} {}{} {}\r\n", method, path.starts_with('/') ? "" : "/", path, version);
  while (!fields.empty()) {
    const std::size_t end = fields.find(kLineEnd);
    const std::string_view field = fields.substr(0, end);
    fields.remove_prefix(end + kLineEnd.size());
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos || !is_token(field.substr(0, colon))) return false;
    if (is_of_connection(field.substr(0, colon))) continue;
    request.append(field).append(kLineEnd);
  }
  incoming_.insert(0, request + "Connection: close\r\n\r\n");
  return true;
}

std::string ProxyHandshake::success() const {
  if (kind_ == Kind::Forward) return {};
  if (kind_ == Kind::Connect) return "HTTP/1.1 200 Connection established\r\n\r\n";
  return socks_reply(Socks::Succeeded);
}

std::string ProxyHandshake::failure(int error_number, bool is_refusal,
                                    std::string_view reason) const {
  if (kind_ == Kind::Connect || kind_ == Kind::Forward) {
    if (is_refusal) return http_reply("403 Forbidden", reason);
    return http_reply(error_number == ETIMEDOUT ? "504 Gateway Timeout" : "502 Bad Gateway",
                      reason.empty() ? "the connection failed" : reason);
  }
  if (is_refusal) return socks_reply(Socks::NotAllowed);
  switch (error_number) {
    case ECONNREFUSED:
      return socks_reply(Socks::Refused);
    case ENETUNREACH:
      return socks_reply(Socks::NetworkUnreachable);
    case EHOSTUNREACH:
    case ETIMEDOUT:
      return socks_reply(Socks::HostUnreachable);
    default:
      return socks_reply(Socks::Failure);
  }
}

}  // namespace nutshell::init
