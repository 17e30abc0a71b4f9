// JSON as this protocol needs it: what comes in is parsed strictly, what goes out is put together
// from texts, so that a large answer is written once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::mcp {

using Json = nlohmann::json;

inline constexpr std::size_t kMostMessageBytes = 32U << 20U;
inline constexpr std::size_t kMostDepth = 64;
inline constexpr std::size_t kMostValues = 200'000;

// One value and nothing behind it. A key given twice, a text that is not UTF-8, a byte order mark,
// a number no double holds, too many values or too much nesting: InvalidArgument.
Result<Json> parse_strict(std::string_view text);

// As a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
std::string dumped(const Json& value);

// `object` is the text of an object; `fields` is `"name":value,…` or empty.
std::string with_fields(std::string_view object, std::string_view fields);

}  // namespace nutshell::mcp
