// Small functions that parsers are built from. Each is linear in what it reads and allocates no
// more than its result. A `take_…` removes what it read from the start of `text`, or leaves `text`
// unchanged if it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/facts.h"

namespace nutshell::compaction {

bool contains(std::string_view text, std::string_view part);
bool is_digit(char character);
bool is_blank(std::string_view text);  // only spaces and tabs

std::string_view trim(std::string_view text);
std::string_view trim_left(std::string_view text);
std::string_view trim_right(std::string_view text);
std::size_t indent_of(std::string_view text);  // leading spaces; a tab counts as one

bool take_prefix(std::string_view& text, std::string_view prefix);
std::optional<std::uint64_t> take_number(
    std::string_view& text);  // decimal digits that fit 64 bits
std::optional<std::uint32_t> take_small_number(std::string_view& text);  // that fit 32 bits
// Takes up to the next blank, and the blanks after it. Returns "" at the end of the text.
std::string_view take_word(std::string_view& text);
// Takes up to and including `end`; nullopt if `end` is not found.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end);

std::vector<std::string_view> split_words(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

// The text after a location, without leading blanks.
struct LocatedText {
  Location where;
  std::string_view rest;
};

// "src/a.cc:4:12: text" and "src/a.cc:4: text"; the last number may end the line. A file name has
// no blank at its ends, and "C:\a.c:4:" is a file with a drive.
std::optional<LocatedText> split_location(std::string_view line);

// "file", "file:4" or "file:4:12"
std::string to_text(const Location& where);

}  // namespace nutshell::compaction
