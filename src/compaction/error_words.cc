#include "compaction/error_words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

struct Word {
  std::string_view text;      // lower case, kBlock bytes at least
  std::string_view suffixes;  // letters that may follow, between bars
  LineKind kind;
};

constexpr std::array<Word, 22> kWords = {{{"error", "|s|", LineKind::Error},
                                          {"fail", "|s|ed|ing|ure|ures|", LineKind::Error},
                                          {"panic", "|ked|", LineKind::Error},
                                          {"fatal", "|", LineKind::Error},
                                          {"exception", "|s|", LineKind::Error},
                                          {"undefined", "|", LineKind::Error},
                                          {"cannot", "|", LineKind::Error},
                                          {"denied", "|", LineKind::Error},
                                          {"traceback", "|", LineKind::Error},
                                          {"abort", "|ed|ing|", LineKind::Error},
                                          {"segmentation fault", "|", LineKind::Error},
                                          {"assertion", "|", LineKind::Error},
                                          {"not found", "|", LineKind::Error},
                                          {"no such", "|", LineKind::Error},
                                          {"refused", "|", LineKind::Error},
                                          {"unable to", "|", LineKind::Error},
                                          {"could not", "|", LineKind::Error},
                                          {"critical", "|", LineKind::Error},
                                          {"npm err!", "|", LineKind::Error},
                                          {"killed", "|", LineKind::Error},
                                          {"timed out", "|", LineKind::Error},
                                          {"warn", "|ing|ings|", LineKind::Warning}}};

constexpr std::size_t kShortest = 4;  // of kWords

char lower(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character | 0x20) : character;
}

bool is_letter(char character) {
  return lower(character) >= 'a' && lower(character) <= 'z';
}

bool is_name_part(char character) {
  return is_letter(character) || is_digit(character) || character == '_';
}

std::size_t pair_index(char first, char second) {
  return static_cast<std::size_t>(static_cast<unsigned char>(first)) << 8U |
         static_cast<unsigned char>(second);
}

std::array<char, 2> both_cases(char letter) {
  const bool has_capital = letter >= 'a' && letter <= 'z';
  return {letter, has_capital ? static_cast<char>(letter & ~0x20) : letter};
}

// How far the search may skip, by the last two bytes of its window (the algorithm of Wu and Manber
// for many words). Zero means that a word's first four bytes may end here.
std::vector<std::uint8_t> make_skips() {
  std::vector<std::uint8_t> skips(1U << 16U, kShortest - 1);
  for (const Word& word : kWords) {
    for (std::size_t at = 0; at + 2 <= kShortest; ++at) {
      for (const char first : both_cases(word.text[at])) {
        for (const char second : both_cases(word.text[at + 1])) {
          auto& skip = skips[pair_index(first, second)];
          skip = std::min(skip, static_cast<std::uint8_t>(kShortest - 2 - at));
        }
      }
    }
  }
  return skips;
}

// The words that begin with a byte, each a bit.
std::array<std::uint32_t, 256> make_starts() {
  std::array<std::uint32_t, 256> starts{};
  for (std::size_t word = 0; word < kWords.size(); ++word) {
    for (const char first : both_cases(kWords[word].text.front()))
      starts[static_cast<unsigned char>(first)] |= 1U << word;
  }
  return starts;
}

bool is_word_at(std::string_view line, std::size_t at, std::string_view word) {
  if (line.size() - at < word.size()) return false;
  for (std::size_t index = 0; index < word.size(); ++index) {
    if (lower(line[at + index]) != word[index]) return false;
  }
  return true;
}

// "=0", ": 0" and the like after a word: a count of zero.
bool counts_nothing(std::string_view behind) {
  if (behind.empty() || (behind.front() != '=' && behind.front() != ':')) return false;
  behind = trim_left(behind.substr(1));
  return !behind.empty() && behind.front() == '0' && (behind.size() == 1 || !is_digit(behind[1]));
}

bool starts_well(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  const char before = line[at - 1];
  const bool is_camel = line[at] >= 'A' && line[at] <= 'Z' && before >= 'a' && before <= 'z';
  if (is_camel) return true;
  if (is_name_part(before) || before == '-' || before == '/' || before == '.') return false;
  const auto ahead = trim_right(line.substr(0, at));
  const bool is_zero =
      ahead.ends_with('0') && (ahead.size() == 1 || !is_digit(ahead[ahead.size() - 2]));
  const bool is_none = ahead.ends_with("no") || ahead.ends_with("No") || ahead.ends_with("without");
  return !is_zero && !is_none;
}

bool ends_well(std::string_view behind, const Word& word) {
  std::size_t letters = 0;
  while (letters < behind.size() && is_letter(behind[letters]))
    ++letters;
  if (letters > 4) return false;
  std::string suffix = "|";
  for (std::size_t at = 0; at < letters; ++at)
    suffix += lower(behind[at]);
  suffix += '|';
  const bool is_plain = letters == 0;
  if (!is_plain && !contains(word.suffixes, suffix)) return false;
  behind.remove_prefix(letters);
  if (behind.empty()) return true;
  const char next = behind.front();
  if (is_name_part(next) || next == '/') return false;
  const bool joins = next == '.' || next == '-';
  if (joins && behind.size() > 1 && is_name_part(behind[1])) return false;
  return !counts_nothing(behind);
}

// A passing test may be named after the error it provokes.
bool is_passed(std::string_view line) {
  const auto text = trim(line);
  constexpr std::array<std::string_view, 8> kStarts = {
      "\xe2\x9c\x93", "\xe2\x9c\x94", "\xe2\x88\x9a", "ok ",
      "PASS",         "--- PASS",     "[       OK",   "[ RUN "};
  for (const auto start : kStarts) {
    if (text.starts_with(start)) return true;
  }
  return text.ends_with(" ok") || text.ends_with(" OK") || contains(text, " PASSED") ||
         contains(text, "   Passed ");
}

LineKind kind_at(std::string_view line, std::size_t at) {
  static const std::array<std::uint32_t, 256> kStarts = make_starts();
  auto words = kStarts[static_cast<unsigned char>(line[at])];
  for (; words != 0; words &= words - 1) {
    const Word& word = kWords[static_cast<std::size_t>(std::countr_zero(words))];
    if (!is_word_at(line, at, word.text)) continue;
    if (!starts_well(line, at) || !ends_well(line.substr(at + word.text.size()), word)) continue;
    return word.kind;
  }
  return LineKind::Plain;
}

}  // namespace

LineLook look_at(std::string_view line) {
  static const std::vector<std::uint8_t> kTable = make_skips();
  const std::uint8_t* const skips = kTable.data();
  LineLook look;
  for (std::size_t end = kShortest - 2; end + 2 <= line.size();) {
    const std::size_t skip = skips[pair_index(line[end], line[end + 1])];
    if (skip > 0) {
      end += skip;
      continue;
    }
    const std::size_t at = end - (kShortest - 2);
    const LineKind kind = kind_at(line, at);
    if (kind > look.kind) look = {kind, at};
    if (kind == LineKind::Error) break;
    ++end;
  }
  if (look.kind != LineKind::Plain && is_passed(line)) return {};
  return look;
}

bool looks_like_error(std::string_view line) {
  return look_at(line).kind == LineKind::Error;
}

}  // namespace nutshell::compaction
