#include "containers/json_counts.h"

#include <nlohmann/json.hpp>

#include "core/json_members.h"

namespace nutshell::containers {

std::optional<std::uint64_t> count_at(const nlohmann::json& object,
                                      std::initializer_list<const char*> names) {
  const nlohmann::json* found = &object;
  for (const char* name : names) {
    found = member(*found, name);
    if (found == nullptr) return std::nullopt;
  }
  if (!found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

std::optional<std::uint64_t> positive_at(const nlohmann::json& object,
                                         std::initializer_list<const char*> names) {
  const auto count = count_at(object, names);
  return count == std::optional<std::uint64_t>(0) ? std::nullopt : count;
}

}  // namespace nutshell::containers
