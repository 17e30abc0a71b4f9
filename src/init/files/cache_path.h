// Tells files that programs write for themselves, such as compiled Python, from a user's files.
#pragma once

#include <string_view>

namespace nutshell::init {

// Judges by the names in the path alone.
bool is_cache_path(std::string_view path);

}  // namespace nutshell::init
