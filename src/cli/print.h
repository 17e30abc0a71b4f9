// Prints to standard output for all commands. Names, labels and messages may come from a sandbox or
// from another tenant, so every text argument is made safe for a terminal first. Commands print
// only through these functions; scripts/words.py checks that.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/safe_text.h"

namespace nutshell::cli {

// Makes text safe for one line of a terminal; other values, such as numbers, stay as they are.
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

// Prints several lines of a file or of output; newlines and tabs stay.
void print_text(std::string_view text);

// Prints one JSON document and a newline. Control characters are escaped; the value is the same.
void print_json(const nlohmann::ordered_json& value);
void print_json(const nlohmann::json& value);
void print_json_text(std::string_view json);

// Prints bytes unchanged: patches for git, scripts for a shell, stored output.
void print_bytes(std::string_view bytes);

}  // namespace nutshell::cli
