// Bytes of a sandbox as text that can stand in JSON and on a line of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell {

// How many bytes the UTF-8 character at the start has; 0 where there is none.
std::size_t utf8_length(std::string_view bytes);

// Valid UTF-8: every other byte becomes "\xff". All else stays as it is.
std::string valid_text(std::string_view bytes);

// A name on one line: with control characters, quotes or bytes that are no UTF-8 it is quoted.
std::string visible_name(std::string_view name);

// "210", "4.1k", "12M"
std::string short_size(std::uint64_t bytes);

}  // namespace nutshell
