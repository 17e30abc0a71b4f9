// Reads members of JSON that others wrote, where any member may be missing or of another type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nutshell {

// Returns nullptr if the member is missing or `object` is not an object.
const nlohmann::json* member(const nlohmann::json& object, const char* name);
// Returns an empty text if the member is missing or of another type.
std::string text_of(const nlohmann::json& object, const char* name);
// Returns 0 if the member is missing or not a whole number from 0 on.
std::uint64_t count_of(const nlohmann::json& object, const char* name);
// Returns the first `most` texts of a list; items of other types are left out.
std::vector<std::string> texts_of(const nlohmann::json& object, const char* name,
                                  std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace nutshell
