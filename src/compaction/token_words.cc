#include <cstdint>
#include <string_view>
#include <vector>

#include "compaction/token_pieces.h"

namespace nutshell::compaction {
namespace {

// Frequent words of tool output that are one token of o200k, separated by blanks.
constexpr std::string_view kWords =
#include "compaction/token_words.inc"
    ;

constexpr std::size_t kSlots =
    1U << 14U;  // many times the number of words, so that most look-ups end at once

std::size_t slot_of(std::string_view word) {
  std::uint64_t hash = 0;
  for (const char letter : word)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(hash >> 50U);
}

std::vector<std::string_view> make_table() {
  std::vector<std::string_view> table(kSlots);
  std::string_view rest = kWords;
  while (!rest.empty()) {
    const auto word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
    std::size_t slot = slot_of(word);
    while (!table[slot].empty())
      slot = (slot + 1) % kSlots;
    table[slot] = word;
  }
  return table;
}

}  // namespace

bool is_known_word(std::string_view word) {
  static const std::vector<std::string_view> kTable = make_table();
  for (std::size_t slot = slot_of(word); !kTable[slot].empty(); slot = (slot + 1) % kSlots) {
    if (kTable[slot] == word) return true;
  }
  return false;
}

}  // namespace nutshell::compaction
