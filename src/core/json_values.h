// Finds the JSON values in an output, which may hold other lines too: one document, values one
// after the other, JSON with warnings before or behind it, JSON that ends early.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_reader.h"

namespace nutshell {

struct FoundJson {
  std::string text;  // the lines, each with its newline
  JsonTree tree;
  std::vector<std::size_t> roots;       // nodes of the outermost values
  std::vector<std::string_view> other;  // lines that belong to no value
  std::size_t filled = 0;               // lines that are not blank
};

// Returns nullopt unless most of the output is JSON. Reads no more than twice what is there.
std::optional<FoundJson> find_json(std::string text);

// Finds the value behind a JSON pointer (RFC 6901): "/items/17/name". If there are several
// outermost values, its first part is the number of one, from 0. "" is the only outermost value.
std::optional<std::size_t> find_pointer(const FoundJson& json, std::string_view pointer);

// Returns JSON without the line ends and blanks between its parts.
std::string without_blanks(std::string_view json);

// The path of a value; `find_pointer` finds it there.
std::string pointer_to(const FoundJson& json, std::size_t node);

}  // namespace nutshell
