// Finds the lines of a text that are most like those that an edit did not find.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nutshell::init {

struct NearestLines {
  std::uint64_t first_line = 0;  // counted from 1
  std::uint64_t last_line = 0;
  std::string difference;  // "indentation: file uses tabs"; empty if not only blanks differ
  std::string shown;       // "41\t→for (;;) {": the lines with their numbers, tabs made visible
};

// Returns nullopt if no line is like it. Looks only at the beginning of a huge text.
std::optional<NearestLines> find_nearest(std::string_view text, std::string_view wanted);

}  // namespace nutshell::init
