// The parts of HTTP messages as values: header fields, request targets, heads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nutshell::http {

struct Header {
  std::string name;
  std::string value;
};

// Header fields. Names match in any case; fields of one name keep their order.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> headers) : headers_(headers) {}

  void add(std::string name, std::string value) {
    headers_.push_back({std::move(name), std::move(value)});
  }
  // The first field of that name; nullptr if there is none.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] std::string_view get(std::string_view name) const;  // empty if there is none
  [[nodiscard]] std::size_t count(std::string_view name) const;
  // Whether a comma-separated field contains this word, in any case.
  [[nodiscard]] bool has_word(std::string_view name, std::string_view word) const;

  [[nodiscard]] auto begin() const { return headers_.begin(); }
  [[nodiscard]] auto end() const { return headers_.end(); }
  [[nodiscard]] std::size_t size() const { return headers_.size(); }

 private:
  std::vector<Header> headers_;
};

bool equal_in_any_case(std::string_view a, std::string_view b);

// A request target such as "/v1/files/a%2Fb?path=%2Ftmp". It is split at the slashes before it is
// decoded, so an encoded slash stays inside its segment.
struct Target {
  std::string path;                   // as sent, without the query
  std::vector<std::string> segments;  // decoded
  std::vector<std::pair<std::string, std::string>> query;

  [[nodiscard]] const std::string* parameter(std::string_view name) const;
};
// Refuses what is not a path, broken escapes, NUL, and segments "." and "..".
Result<Target> parse_target(std::string_view text);

// Escapes all but letters, digits and -._~ so that the text is one segment or query value.
std::string percent_encode(std::string_view text);

struct RequestHead {
  std::string method;
  Target target;
  Headers headers;
  bool keeps_alive = true;
  bool is_http_11 = true;
  bool is_chunked = false;
  std::optional<std::uint64_t> content_length;  // none: chunked, or no body
};

struct ResponseHead {
  int status = 0;
  Headers headers;
  bool keeps_alive = true;
};

std::string_view reason_of(int status);

}  // namespace nutshell::http
