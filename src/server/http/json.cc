#include "server/http/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/base64.h"
#include "base/utf8.h"
#include "http/websocket.h"

namespace nutshell::server {
namespace {

constexpr std::size_t kMostDepth = 64;
constexpr std::size_t kMostValues = 200'000;  // each takes many times its text in memory
constexpr std::size_t kMostMembers = 4096;
constexpr std::size_t kMostChildren = 16'384;

// Bounds the sizes before parsing. An ordered object searches all its members for each key, and the
// parser searches a list after each object in it, so large ones would take minutes.
Result<> check_size(std::string_view text) {
  std::array<std::size_t, kMostDepth + 1> members{};
  std::array<std::size_t, kMostDepth + 1> children{};
  std::size_t depth = 0;
  std::size_t values = 1;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (is_in_text) {
      if (letter == '\\') ++i;
      if (letter == '"') is_in_text = false;
      continue;
    }
    if (letter == '"') is_in_text = true;
    if (letter == '{' || letter == '[') {
      if (++depth > kMostDepth) {
        return failure(ErrorCode::InvalidArgument,
                       fmt::format("the JSON is nested more than {} levels deep", kMostDepth));
      }
      members.at(depth) = children.at(depth) = 0;
      if (++children.at(depth - 1) > kMostChildren) {
        return failure(
            ErrorCode::InvalidArgument,
            fmt::format("the JSON has a list of more than {} objects or lists", kMostChildren));
      }
    }
    if ((letter == '}' || letter == ']') && depth > 0) --depth;
    if (letter == ',' && ++values > kMostValues) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("the JSON has more than {} values", kMostValues));
    }
    // Only members have colons.
    if (letter == ':' && ++members.at(depth) > kMostMembers) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("an object of the JSON has more than {} members", kMostMembers));
    }
  }
  return {};
}

// Sees every key while it is parsed, and remembers the first that stands twice in one object.
class DuplicateWatch {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(value.get<std::string>()).second) {
      if (twice_.empty()) twice_ = value.get<std::string>();
    }
    return true;
  }
  [[nodiscard]] const std::string& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string twice_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  TRY(check_size(text));
  if (text.starts_with("\xef\xbb\xbf")) {
    return failure(ErrorCode::InvalidArgument, "the JSON begins with a byte order mark");
  }
  DuplicateWatch watch;
  try {
    Json value = Json::parse(text.begin(), text.end(), std::ref(watch));
    if (watch.twice().empty()) return value;
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the key '{}' stands twice in one object", watch.twice()));
  } catch (const nlohmann::json::exception& error) {
    const std::string_view what = error.what();
    const std::size_t begin = what.find("] ");
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("not JSON: {}", what.substr(begin == what.npos ? 0 : begin + 2)));
  }
}

std::string print_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void set_text(Json& object, const std::string& key, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object[key] = bytes;
    return;
  }
  object[key] = Json::parse(print_json(Json(bytes)));
  object[key + "_base64"] = to_base64(bytes);
}

std::size_t unfinished_tail(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xc0U) == 0x80) continue;  // inside a character
    const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace nutshell::server
