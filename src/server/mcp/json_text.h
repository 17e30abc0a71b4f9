// JSON of the protocol: input is parsed strictly; output is joined from texts, so that a large
// answer is copied once.
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

// Parses one value with nothing behind it. InvalidArgument for a key given twice, text that is not
// UTF-8, a byte order mark, a number beyond a double, too many values or too deep nesting.
Result<Json> parse_strict(std::string_view text);

// Writes a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
std::string dumped(const Json& value);

// `object` is the text of an object; `fields` is `"name":value,…` or empty.
std::string with_fields(std::string_view object, std::string_view fields);

}  // namespace nutshell::mcp
