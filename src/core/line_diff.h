// Compares two texts line by line. Bounded in time for any input: past the bound the difference is
// still correct, but no longer the shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// Lines [old_first, old_first + old_count) became [new_first, new_first + new_count), from 0.
struct LineChange {
  std::size_t old_first = 0;
  std::size_t old_count = 0;
  std::size_t new_first = 0;
  std::size_t new_count = 0;

  bool operator==(const LineChange&) const = default;
};

struct DiffOptions {
  std::string old_name;  // printed behind "--- "
  std::string new_name;  // printed behind "+++ "
  std::size_t context = 3;
  std::uint64_t most_steps = 50'000'000;  // comparisons, before whole blocks count as replaced
};

// Splits a text into lines, each with its newline; the last may have none.
std::vector<std::string_view> split_lines(std::string_view text);

std::vector<LineChange> diff_lines(const std::vector<std::string_view>& old_lines,
                                   const std::vector<std::string_view>& new_lines,
                                   std::uint64_t most_steps);

// Returns the difference in the format of `diff -u`; empty if the texts are equal.
std::string unified_diff(std::string_view old_text, std::string_view new_text,
                         const DiffOptions& options);

}  // namespace nutshell
