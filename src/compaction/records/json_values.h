// Finds the JSON values in an output, which may hold other lines too: one document, values one after the
// other, JSON with warnings before or behind it, JSON that ends early.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"
#include "compaction/records/json_reader.h"

namespace nutshell::compaction {

struct FoundJson {
  std::string text;  // the lines, each with its newline
  JsonTree tree;
  std::vector<std::size_t> roots;       // nodes of the outermost values
  std::vector<std::string_view> other;  // lines that belong to no value
  std::size_t filled = 0;               // lines that are not blank
};

// Joins lines to one text.
std::string joined_lines(Lines lines);

// Returns nullopt unless most of the output is JSON. Reads no more than twice what is there.
std::optional<FoundJson> find_json(Lines lines);

}  // namespace nutshell::compaction
