// Reading JSON that a stranger wrote: members may be missing or of any type.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nutshell {

// Null where it is missing or `object` is none.
const nlohmann::json* member(const nlohmann::json& object, const char* name);
// Empty where it is missing or of another type.
std::string text_of(const nlohmann::json& object, const char* name);
// Those of them that are texts; no more than `most`.
std::vector<std::string> texts_of(const nlohmann::json& object, const char* name,
                                  std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace nutshell
