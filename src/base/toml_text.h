// TOML has letters beyond ASCII in texts and comments alone. Its parser takes that for granted:
// what it does with others elsewhere is undefined.
#pragma once

#include <string_view>

#include "base/result.h"

namespace nutshell {

// Refuses them, with the line.
Result<> check_toml_text(std::string_view text);

}  // namespace nutshell
