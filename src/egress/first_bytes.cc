#include "egress/first_bytes.h"

#include <algorithm>
#include <optional>

namespace nutshell::egress {
namespace {

using Kind = FirstBytes::Kind;

constexpr char kHandshakeRecord = 22;
constexpr char kClientHello = 1;
constexpr std::size_t kMostRecordBytes = 1U << 14U;
constexpr std::uint16_t kServerNameExtension = 0;
constexpr std::uint16_t kEncryptedHelloExtension = 0xfe0d;
constexpr std::size_t kMostMethodBytes = 32;

FirstBytes malformed() {
  return {.kind = Kind::Malformed, .name = {}};
}

// Takes numbers and fields off the front; after a field that is not there, everything is empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::size_t number(std::size_t width) {
    std::size_t value = 0;
    for (const char byte : take(width))
      value = (value << 8U) | static_cast<std::uint8_t>(byte);
    return value;
  }
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) {
      has_failed_ = true;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  // A field that begins with its length, in `width` bytes.
  std::string_view field(std::size_t width) { return take(number(width)); }
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  std::string_view bytes_;
  bool has_failed_ = false;
};

// The one name of type host_name; nullopt if the list is anything else.
std::optional<std::string> read_server_name(std::string_view extension) {
  Reader reader(extension);
  Reader list(reader.field(2));
  const bool is_host_name = list.number(1) == 0;
  const std::string_view name = list.field(2);
  const bool is_whole = !reader.has_failed() && reader.is_empty() && !list.has_failed();
  if (!is_whole || !list.is_empty() || !is_host_name || name.empty()) return std::nullopt;
  return std::string(name);
}

FirstBytes read_client_hello(std::string_view hello) {
  Reader reader(hello);
  reader.take(2 + 32);  // version, random
  reader.field(1);      // session
  reader.field(2);      // ciphers
  reader.field(1);      // compression
  FirstBytes found{.kind = Kind::Tls, .name = {}};
  if (reader.has_failed()) return malformed();
  if (reader.is_empty()) return found;
  Reader extensions(reader.field(2));
  if (reader.has_failed() || !reader.is_empty()) return malformed();
  bool has_name = false;
  while (!extensions.is_empty()) {
    const std::size_t type = extensions.number(2);
    const std::string_view content = extensions.field(2);
    if (extensions.has_failed()) return malformed();
    if (type == kEncryptedHelloExtension) found.has_encrypted_name = true;
    if (type != kServerNameExtension) continue;
    const auto name = read_server_name(content);
    if (!name || has_name) return malformed();
    has_name = true;
    found.name = *name;
  }
  return found;
}

// A ClientHello may be spread over several records.
FirstBytes read_tls(std::string_view bytes) {
  std::string handshake;
  Reader records(bytes);
  while (!records.is_empty()) {
    const std::size_t type = records.number(1);
    const std::size_t version = records.number(2);
    const std::size_t size = records.number(2);
    if (records.has_failed()) break;
    if (type != kHandshakeRecord || version >> 8U != 3 || size == 0 || size > kMostRecordBytes)
      return malformed();
    // The end of a record that has not come yet.
    const std::string_view whole = records.take(size);
    if (records.has_failed()) break;
    handshake += whole;
    if (handshake.front() != kClientHello) return malformed();
    if (handshake.size() < 4) continue;
    Reader message(handshake);
    message.take(1);
    const std::size_t length = message.number(3);
    if (length > kMostFirstBytes) return malformed();
    const std::string_view hello = message.take(length);
    if (!message.has_failed()) return read_client_hello(hello);
  }
  if (bytes.size() >= kMostFirstBytes) return malformed();
  return {};
}

bool is_of_method(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

bool is_equal_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char one, char other) {
           return (one >= 'A' && one <= 'Z' ? one - 'A' + 'a' : one) == other;
         });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

std::string_view without_port(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

// The server that the headers and the request line name; nullopt if they do not name just one.
std::optional<std::string> read_http_host(std::string_view head) {
  std::optional<std::string_view> host;
  std::size_t at = head.find("\r\n");
  const std::string_view request_line = head.substr(0, at);
  while (at + 2 < head.size()) {
    const std::size_t begin = at + 2;
    at = std::min(head.find("\r\n", begin), head.size());
    const std::string_view line = head.substr(begin, at - begin);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t')
      return std::nullopt;
    if (!is_equal_ignoring_case(line.substr(0, colon), "host")) continue;
    if (host) return std::nullopt;
    host = trimmed(line.substr(colon + 1));
  }
  if (!host || host->find('@') != std::string_view::npos) return std::nullopt;
  const std::size_t scheme = request_line.find(" http://");
  if (scheme == std::string_view::npos) return std::string(without_port(*host));
  std::string_view authority = request_line.substr(scheme + 8);
  authority = authority.substr(0, authority.find_first_of("/? "));
  if (authority != *host) return std::nullopt;
  return std::string(without_port(authority));
}

FirstBytes read_http(std::string_view bytes) {
  const std::size_t line_end = bytes.find("\r\n");
  if (line_end == std::string_view::npos) {
    return bytes.size() < kMostFirstBytes ? FirstBytes{} : malformed();
  }
  const std::string_view line = bytes.substr(0, line_end);
  if (!line.ends_with(" HTTP/1.1") && !line.ends_with(" HTTP/1.0")) {
    return line.ends_with(" HTTP/2.0") ? malformed() : FirstBytes{.kind = Kind::Other, .name = {}};
  }
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos)
    return bytes.size() < kMostFirstBytes ? FirstBytes{} : malformed();
  const auto host = read_http_host(bytes.substr(0, end + 2));
  if (!host) return malformed();
  return {.kind = Kind::Http, .name = *host};
}

}  // namespace

FirstBytes read_first_bytes(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes.front() == kHandshakeRecord) return read_tls(bytes);
  const auto* const end = std::find_if_not(bytes.begin(), bytes.end(), is_of_method);
  const auto letters = static_cast<std::size_t>(end - bytes.begin());
  if (letters > kMostMethodBytes) return {.kind = Kind::Other, .name = {}};
  if (end == bytes.end()) return {};
  if (letters == 0 || *end != ' ') return {.kind = Kind::Other, .name = {}};
  return read_http(bytes);
}

}  // namespace nutshell::egress
