// Prints to standard output for all commands. Names, labels and messages may come from a sandbox or
// from another tenant, so every text argument is made safe for a terminal first. Commands print
// through these functions alone; scripts/words.py looks.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/safe_text.h"

namespace nutshell::cli {

// Text as it is shown; anything else, such as a number, stays as it is.
template <typename T>
auto shown(const T& value) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    return terminal_line(value);
  } else {
    return value;
  }
}

template <typename T>
using Shown = decltype(shown(std::declval<const T&>()));

// Like fmt::print(): only the format string can begin a new line or move the cursor.
template <typename... Arguments>
void print_out(fmt::format_string<Shown<Arguments>...> format, const Arguments&... arguments) {
  fmt::print(format, shown(arguments)...);
}

// Many lines of a file or of output, whose newlines and tabs stay.
void print_text(std::string_view text);

// One JSON document and a newline. Programs read the same value, whatever a terminal would obey.
void print_json(const nlohmann::ordered_json& value);
void print_json(const nlohmann::json& value);
void print_json_text(std::string_view json);

// Bytes as they are: patches for git, scripts for a shell, stored output.
void print_bytes(std::string_view bytes);

}  // namespace nutshell::cli
