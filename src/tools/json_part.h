// Selects a part of stored JSON: the value behind a JSON pointer, and of an array or object a range
// of its elements.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

struct RowRange {
  std::size_t first = 0;  // from 0, like the numbers in a JSON pointer
  std::size_t last = 0;
};

// "40-80", "17"; nullopt if it is neither, or ends before it begins.
std::optional<RowRange> parse_rows(std::string_view text);

struct JsonPart {
  std::string problem;             // why nothing was selected; the rest is then unset
  std::string advice;              // what to do instead
  std::string name;                // "/items", "" for all of it
  std::vector<std::string> lines;  // one for each element or member, or the value
  std::size_t first = 0;           // the number of the first of them
  std::size_t total = 0;           // elements of the value
  bool has_rows = false;           // an array or object, which `rows` can page
};

// Without `rows`, all elements. Composes no more than about `most_bytes`.
JsonPart select_json(std::string text, std::string_view pointer, std::optional<RowRange> rows,
                     std::size_t most_bytes);

}  // namespace nutshell
