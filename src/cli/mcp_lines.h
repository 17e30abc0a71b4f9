// Blocks of lines in TOML and YAML files, found by their headings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell::cli {

// The lines of [name] and of the tables below it; empty: it is not there.
std::string toml_table(const std::string& text, const std::string& name);
std::string take_toml_table(const std::string& text, const std::string& name);

// The lines of `name:` below the heading `key:`, which stands at the left margin.
std::string yaml_block(const std::string& text, std::string_view key, std::string_view name);
std::string take_yaml_block(const std::string& text, std::string_view key, std::string_view name);
// `block` as the first below the heading, which is made if it is not there. Nothing: what is there
// is written in another way.
std::optional<std::string> put_yaml_block(const std::string& text, std::string_view key,
                                          const std::string& block);

// What stands behind `name =` or `name:` on a line of its own.
std::string value_of(const std::string& block, std::string_view name);

}  // namespace nutshell::cli
