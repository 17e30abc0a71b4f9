// JSON that a stranger wrote: members may be missing or of any type.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::images {

using Json = nlohmann::json;

// Refuses what is too long or too deep, and objects with a member twice: two readers could take
// different ones.
Result<Json> parse_json(std::string_view text, std::size_t most_bytes);

// Null where it is missing or `object` is none.
const Json* member(const Json& object, const char* name);
// Empty or zero where it is missing or of another type.
std::string text_of(const Json& object, const char* name);
std::uint64_t count_of(const Json& object, const char* name);
// Those of them that are texts; no more than `most`.
std::vector<std::string> texts_of(const Json& object, const char* name, std::size_t most);

}  // namespace nutshell::images
