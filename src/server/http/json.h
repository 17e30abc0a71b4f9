// JSON from and to clients. Refuses input that two readers could understand differently: duplicate
// keys, bytes that are not UTF-8, numbers out of range, and too deep nesting.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::server {

using Json = nlohmann::ordered_json;

// Refuses what core/json_text.h does, and objects of more than 4096 members.
Result<Json> parse_json(std::string_view text);

// Sets `key` to the text; if the bytes are not UTF-8, also `key`_base64 to all of them.
void set_text(Json& object, const std::string& key, std::string_view bytes);

// The number of bytes at the end that begin an incomplete character.
std::size_t unfinished_tail(std::string_view bytes);

}  // namespace nutshell::server
