// Finds changes in package.json and composer.json that a package manager or a git hook would run,
// such as scripts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell {

bool is_package_file(std::string_view folded_name);

// The first member that differs and is not known to be harmless, such as "scripts"; empty if there
// is none. A text that cannot be parsed differs in everything.
std::string changed_member(const std::optional<std::string>& before, const std::string& after);

}  // namespace nutshell
