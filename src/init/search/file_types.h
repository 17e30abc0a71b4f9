// The types of files to which a search can be narrowed by a short name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell::init::search {

// Returns patterns of file names; empty if there is no such type.
std::vector<std::string> globs_of_type(std::string_view type);

// Lists all types, for a message.
std::string known_types();

}  // namespace nutshell::init::search
