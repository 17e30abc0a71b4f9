// Reading what an engine says: hostile text, whose members may be missing or of any type.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/json_members.h"

namespace nutshell::docker {

using Json = nlohmann::json;

Result<Json> parse_json(std::string_view text);

// Zero, false or empty where it is missing or of another type.
std::int64_t number_of(const Json& object, const char* name);
bool is_true(const Json& object, const char* name);
std::map<std::string, std::string> texts_by_name(const Json& object, const char* name);

// The first of it, on one line, with nothing that a terminal would obey.
std::string printable(std::string_view text, std::size_t most);

}  // namespace nutshell::docker
