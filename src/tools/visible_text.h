// Makes names and sizes from a sandbox readable on one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/safe_text.h"
#include "base/utf8.h"

namespace nutshell {

// A name on one line. It is quoted if it has quotes, outer spaces or characters that
// terminal_line() escapes.
std::string visible_name(std::string_view name);

// "210", "4.1k", "12M"
std::string short_size(std::uint64_t bytes);

}  // namespace nutshell
