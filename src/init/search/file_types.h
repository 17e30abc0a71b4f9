// The kinds of files a search can be narrowed to by a short name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell::init::search {

// Patterns of names; none if there is no such type.
std::vector<std::string> globs_of_type(std::string_view type);

// All of them, for a message.
std::string known_types();

}  // namespace nutshell::init::search
