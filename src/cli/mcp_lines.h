// Finds and edits blocks of lines in TOML and YAML files by their headings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell::cli {

// The lines of [name] and of its subtables; empty if there is none.
std::string toml_table(const std::string& text, const std::string& name);
std::string take_toml_table(const std::string& text, const std::string& name);

// The lines of `name:` below the heading `key:`, which stands at the left margin.
std::string yaml_block(const std::string& text, std::string_view key, std::string_view name);
std::string take_yaml_block(const std::string& text, std::string_view key, std::string_view name);
// Inserts `block` as the first one below the heading, which is added if it is missing. nullopt if
// the heading is written in another way than we can edit.
std::optional<std::string> put_yaml_block(const std::string& text, std::string_view key,
                                          const std::string& block);

// The value behind `name =` or `name:` on a line of its own.
std::string value_of(const std::string& block, std::string_view name);

}  // namespace nutshell::cli
