// Puts JSON together from texts, so that a large answer is written once. parse_strict() reads what
// comes in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/json_text.h"

namespace nutshell::mcp {

using Json = nlohmann::json;

inline constexpr std::size_t kMostMessageBytes = 32U << 20U;

// Writes a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// `object` is the text of an object; `fields` is `"name":value,…` or empty.
std::string with_fields(std::string_view object, std::string_view fields);

}  // namespace nutshell::mcp
