// JSON that a stranger wrote: members may be missing or of any type.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/json_members.h"

namespace nutshell::images {

using Json = nlohmann::json;

// Refuses what is too long or too deep, and objects with a member twice: two readers could take
// different ones.
Result<Json> parse_json(std::string_view text, std::size_t most_bytes);

// Zero where it is missing or of another type.
std::uint64_t count_of(const Json& object, const char* name);

}  // namespace nutshell::images
