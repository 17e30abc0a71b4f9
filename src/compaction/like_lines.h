// Finds lines that say the same about different things, and writes them as one line with what
// differs. "Downloading a-1.2" and "Downloading b-0.3" are alike; "Downloading" and "Removing" are
// not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::compaction {

// Returns a hash that is equal for lines that differ only in names, numbers, quoted and bracketed
// words, and the width of padding.
std::uint64_t likeness_of(std::string_view line);

// The parts of a line that may differ between like lines, in order.
std::vector<std::string_view> parts_of(std::string_view line);

struct LikeFold {
  std::string text;                  // the first line, their number, and what differs in the others
  std::vector<std::size_t> members;  // indices into the given lines that the text stands for
  std::size_t unlisted = 0;          // of them, those whose differences the text does not give
};

enum class Listing : std::uint8_t { All, WhileCheap };

// Folds like lines. A line that differs where most are equal (a row with "failed=1" among rows
// with "failed=0") is left out of the fold. The text is empty if nothing is gained.
LikeFold fold_like(std::span<const std::string_view> lines, Listing listing);

}  // namespace nutshell::compaction
