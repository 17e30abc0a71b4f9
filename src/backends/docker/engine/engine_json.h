// Reads an engine's JSON, which is not trusted: members may be missing or of any type.
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

// Return zero, false or empty if the member is missing or of another type.
std::int64_t number_of(const Json& object, const char* name);
bool is_true(const Json& object, const char* name);
std::map<std::string, std::string> texts_by_name(const Json& object, const char* name);

// The first `most` bytes on one line, without control characters.
std::string printable(std::string_view text, std::size_t most);

}  // namespace nutshell::docker
