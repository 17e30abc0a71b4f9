// Checks TOML text before it is parsed. TOML allows letters beyond ASCII only in strings and
// comments; the behaviour of our parser (toml++) is undefined if they stand elsewhere.
#pragma once

#include <string_view>

#include "base/result.h"

namespace nutshell {

// Refuses letters beyond ASCII outside strings and comments, and names the line.
Result<> check_toml_text(std::string_view text);

}  // namespace nutshell
