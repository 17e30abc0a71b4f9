// Changes JSON files that people write: with comments and trailing commas, which stay where they
// are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace nutshell::cli {

// Parses an object; nullopt if the text is none.
std::optional<nlohmann::ordered_json> parse_edited_json(std::string_view text);

// The value over several lines, for a place that is `columns` wide indented.
std::string indented_json(const nlohmann::ordered_json& value, std::size_t columns);

// Inserts `item` as the first item of the object or list whose opening bracket is at `bracket`.
std::string insert_first(const std::string& text, std::size_t bracket, const std::string& item,
                         std::size_t columns);

}  // namespace nutshell::cli
