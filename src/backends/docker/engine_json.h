// Reading what an engine says: hostile text, whose members may be missing or of any type.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::docker {

using Json = nlohmann::json;

Result<Json> parse_json(std::string_view text);

// Null where it is missing or `object` is none.
const Json* member(const Json& object, const char* name);
// Empty, zero or false where it is missing or of another type.
std::string text_of(const Json& object, const char* name);
std::int64_t number_of(const Json& object, const char* name);
bool is_true(const Json& object, const char* name);
// Those of them that are texts.
std::vector<std::string> texts_of(const Json& object, const char* name);
std::map<std::string, std::string> texts_by_name(const Json& object, const char* name);

// The first of it, on one line, with nothing that a terminal would obey.
std::string printable(std::string_view text, std::size_t most);

}  // namespace nutshell::docker
