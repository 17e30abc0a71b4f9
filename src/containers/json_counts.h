// Reads the counts in an engine's JSON about a container's use of the machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace nutshell::containers {

// Follows the names; nullopt where one is missing or the value is not an unsigned number.
std::optional<std::uint64_t> count_at(const nlohmann::json& object,
                                      std::initializer_list<const char*> names);
// The same; also nullopt for zero, which engines report for counts they do not make. No running
// sandbox uses zero bytes, processes or processor time.
std::optional<std::uint64_t> positive_at(const nlohmann::json& object,
                                         std::initializer_list<const char*> names);

}  // namespace nutshell::containers
