// JSON from and to clients.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::server {

using Json = nlohmann::ordered_json;

// Refuses what core/json_text.h does, and objects of more than 4096 members.
Result<Json> parse_json(std::string_view text);
// On one line. Bytes that are no UTF-8 become U+FFFD.
std::string print_json(const Json& value);

// Sets `key` to the text; where the bytes are no UTF-8, also `key`_base64 to all of them.
void set_text(Json& object, const std::string& key, std::string_view bytes);

// How many bytes at the end begin a character that is not whole yet.
std::size_t unfinished_tail(std::string_view bytes);

}  // namespace nutshell::server
