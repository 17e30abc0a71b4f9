#include "http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nutshell::http {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = lower(letter);
  if (small >= 'a' && small <= 'f') return small - 'a' + 10;
  return -1;
}

enum class Plus { Itself, Space };

Result<std::string> decoded(std::string_view text, Plus plus) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char letter = text[i];
    if (letter == '+' && plus == Plus::Space) letter = ' ';
    if (letter == '%') {
      const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return failure(ErrorCode::InvalidArgument, "the request target has a broken % escape");
      }
      letter = static_cast<char>(high * 16 + low);
      i += 2;
      if (letter == '\0') {
        return failure(ErrorCode::InvalidArgument, "the request target has a NUL in it");
      }
    }
    plain += letter;
  }
  return plain;
}

Result<> take_segments(std::string_view path, Target& target) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    std::string segment = TRY(decoded(path.substr(0, end), Plus::Itself));
    if (segment == "." || segment == "..") {
      return failure(ErrorCode::InvalidArgument, "the request target has . or .. in its path");
    }
    target.segments.push_back(std::move(segment));
    path.remove_prefix(end);
  }
  return {};
}

Result<> take_query(std::string_view query, Target& target) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string name = TRY(decoded(pair.substr(0, equals), Plus::Space));
    const std::string_view value = equals < pair.size() ? pair.substr(equals + 1) : "";
    target.query.emplace_back(std::move(name), TRY(decoded(value, Plus::Space)));
  }
  return {};
}

}  // namespace

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const Header& header : headers_) {
    if (equal_in_any_case(header.name, name)) return &header.value;
  }
  return nullptr;
}

std::string_view Headers::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      begin(), end(), [&](const Header& header) { return equal_in_any_case(header.name, name); }));
}

bool Headers::has_word(std::string_view name, std::string_view word) const {
  for (const Header& header : headers_) {
    if (!equal_in_any_case(header.name, name)) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (equal_in_any_case(trimmed(rest.substr(0, end)), word)) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return false;
}

const std::string* Target::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') {
    return failure(ErrorCode::InvalidArgument, "the request target is not a path");
  }
  const std::size_t end = std::min(text.find('?'), text.size());
  Target target;
  target.path = text.substr(0, end);
  TRY(take_segments(target.path, target));
  if (end < text.size()) TRY(take_query(text.substr(end + 1), target));
  return target;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain = (lower(letter) >= 'a' && lower(letter) <= 'z') ||
                          (letter >= '0' && letter <= '9') ||
                          std::string_view("-._~").find(letter) != std::string_view::npos;
    if (is_plain) {
      encoded += letter;
      continue;
    }
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 15U];
  }
  return encoded;
}

std::string_view reason_of(int status) {
  struct Reason {
    int status;
    std::string_view words;
  };
  static constexpr std::array kReasons = {
      Reason{100, "Continue"},
      Reason{101, "Switching Protocols"},
      Reason{200, "OK"},
      Reason{201, "Created"},
      Reason{202, "Accepted"},
      Reason{204, "No Content"},
      Reason{206, "Partial Content"},
      Reason{304, "Not Modified"},
      Reason{400, "Bad Request"},
      Reason{401, "Unauthorized"},
      Reason{403, "Forbidden"},
      Reason{404, "Not Found"},
      Reason{405, "Method Not Allowed"},
      Reason{406, "Not Acceptable"},
      Reason{408, "Request Timeout"},
      Reason{409, "Conflict"},
      Reason{411, "Length Required"},
      Reason{413, "Content Too Large"},
      Reason{414, "URI Too Long"},
      Reason{415, "Unsupported Media Type"},
      Reason{416, "Range Not Satisfiable"},
      Reason{417, "Expectation Failed"},
      Reason{421, "Misdirected Request"},
      Reason{422, "Unprocessable Content"},
      Reason{426, "Upgrade Required"},
      Reason{429, "Too Many Requests"},
      Reason{431, "Request Header Fields Too Large"},
      Reason{499, "Client Closed Request"},
      Reason{500, "Internal Server Error"},
      Reason{501, "Not Implemented"},
      Reason{502, "Bad Gateway"},
      Reason{503, "Service Unavailable"},
      Reason{504, "Gateway Timeout"},
      Reason{505, "HTTP Version Not Supported"},
      Reason{507, "Insufficient Storage"},
  };
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.words;
  }
  return "Unknown";
}

}  // namespace nutshell::http
