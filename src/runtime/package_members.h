// package.json and composer.json: a member that a package manager or a git hook runs makes the file
// more than a list of dependencies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell {

bool is_package_file(std::string_view folded_name);

// The first member that is different and not known to be inert: "scripts". Empty: none. A text that
// cannot be read is different in everything.
std::string changed_member(const std::optional<std::string>& before, const std::string& after);

}  // namespace nutshell
