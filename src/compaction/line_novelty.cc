#include "compaction/line_novelty.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_word_byte(char c) {
  const char small = static_cast<char>(c | 0x20);
  return (small >= 'a' && small <= 'z') || is_digit(c) || c == '_' || c == '-' || c == '.' ||
         c == '/' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

bool counts_as_word(std::string_view word) {
  if (word.starts_with("0x")) return false;
  const bool is_number = std::all_of(word.begin(), word.end(), is_digit);
  return !is_number || word.size() > 2;
}

}  // namespace

std::vector<bool> find_novel(Lines lines) {
  std::unordered_set<std::size_t> seen;
  std::vector<bool> is_novel(lines.size(), false);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const auto line = lines[at];
    for (std::size_t start = 0; start < line.size();) {
      std::size_t end = start;
      while (end < line.size() && is_word_byte(line[end]))
        ++end;
      const auto word = line.substr(start, end - start);
      if (!word.empty() && counts_as_word(word))
        is_novel[at] = seen.insert(std::hash<std::string_view>{}(word)).second || is_novel[at];
      start = std::max(end, start + 1);
    }
  }
  return is_novel;
}

}  // namespace nutshell::compaction
