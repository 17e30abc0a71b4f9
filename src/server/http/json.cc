#include "server/http/json.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "base/utf8_text.h"
#include "core/json_text.h"

namespace nutshell::server {
namespace {

// The reader of the body bounds its bytes. Members are found by a linear search of the object, so
// many members would take minutes.
constexpr JsonLimits kLimits{.bytes = SIZE_MAX, .members = 4096};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  return parse_strict_ordered(text, kLimits);
}

void set_text(Json& object, const std::string& key, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object[key] = bytes;
    return;
  }
  object[key] = Json::parse(dump_json(Json(bytes)));
  object[key + "_base64"] = to_base64(bytes);
}

std::size_t unfinished_tail(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const char last = bytes[bytes.size() - back];
    if (is_inside_character(last)) continue;
    const auto byte = static_cast<unsigned char>(last);
    const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace nutshell::server
