// Cuts a text into pieces as the o200k tokenizer does before it looks up tokens: words with the one
// character before them, up to three digits, runs of marks, line ends. The average number of tokens
// of a piece depends only on its class and length, which are counted here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nutshell::compaction {

enum class CharacterClass : std::uint8_t { Lower, Upper, Digit, Blank, LineEnd, Mark, Wide };

constexpr std::size_t kLengths = 16;  // longer pieces count as this long, plus their rest
enum PieceClass : std::size_t {
  LowerBare,    // foo
  LowerSpaced,  // " foo"
  LowerMarked,  // "_foo"
  UpperBare,    // FOO
  UpperAhead,   // " FOO", "_FOO"
  Marks,        // "->", " ==="
  SameMarks,    // "-----"
  EndMarks,     // ");" at the end of a line, which is part of the piece
  Blanks,
  PieceClasses,
};
constexpr std::size_t kDigits = PieceClasses * kLengths;
constexpr std::size_t kLineEnds = kDigits + 1;
constexpr std::size_t kWideBytes = kDigits + 2;  // bytes of characters outside ASCII
constexpr std::size_t kLongTails = kDigits + 3;  // marks and blanks beyond kLengths
constexpr std::size_t kWordTails = kDigits + 4;  // letters beyond kLengths
constexpr std::size_t kKnownBare = kDigits + 5;  // words that are one token behind a blank
constexpr std::size_t kKnownSpaced = kDigits + 6;
constexpr std::size_t kKnownMarked = kDigits + 7;
constexpr std::size_t kKnownMarks = kDigits + 8;  // marks that are one token
constexpr std::size_t kKnownEndMarks = kDigits + 9;
constexpr std::size_t kPieceKinds = kDigits + 10;

// Frequent pieces that are one token of o200k.
enum class KnownPieces : std::uint8_t {
  Words,  // of more than four letters, with a blank before them
  Marks,
  SpacedMarks,  // with a blank before them
  EndMarks,     // with a line end behind them
};

// Returns whether `piece`, without its blank or line end, is one of them.
bool is_known(KnownPieces pieces, std::string_view piece);

constexpr CharacterClass class_of(unsigned char byte) {
  if (byte >= 'a' && byte <= 'z') return CharacterClass::Lower;
  if (byte >= 'A' && byte <= 'Z') return CharacterClass::Upper;
  if (byte >= '0' && byte <= '9') return CharacterClass::Digit;
  if (byte == ' ' || byte == '\t') return CharacterClass::Blank;
  if (byte == '\n' || byte == '\r') return CharacterClass::LineEnd;
  return byte >= 0x80 ? CharacterClass::Wide : CharacterClass::Mark;
}

constexpr std::array<CharacterClass, 256> make_classes() {
  std::array<CharacterClass, 256> classes{};
  for (std::size_t byte = 0; byte < classes.size(); ++byte)
    classes[byte] = class_of(static_cast<unsigned char>(byte));
  return classes;
}

class PieceReader {
 public:
  explicit PieceReader(std::string_view text) : text_(text) {}

  // Calls `count` with the kind of each piece, once per unit of it.
  template <typename Count>
  void run(const Count& count) {
    while (at_ < text_.size())
      take(count);
  }

 private:
  using Class = CharacterClass;

  [[nodiscard]] CharacterClass class_at(std::size_t at) const {
    static constexpr auto kClasses = make_classes();
    return at < text_.size() ? kClasses[static_cast<unsigned char>(text_[at])] : Class::LineEnd;
  }
  [[nodiscard]] bool is_letter(std::size_t at) const { return class_at(at) <= Class::Upper; }

  std::size_t skip(CharacterClass wanted) {
    const std::size_t start = at_;
    while (at_ < text_.size() && class_at(at_) == wanted)
      ++at_;
    return at_ - start;
  }

  template <typename Count>
  void count_long(std::size_t piece_class, std::size_t length, const Count& count) {
    count(piece_class * kLengths + std::min(length, kLengths) - 1);
    for (std::size_t more = kLengths; more < length; ++more)
      count(piece_class < Marks ? kWordTails : kLongTails);
  }

  template <typename Count>
  void take(const Count& count) {
    const CharacterClass first = class_at(at_);
    if (first <= Class::Upper) return take_word(LowerBare, UpperBare, count);
    if (first == Class::Digit) return take_digits(count);
    if (first == Class::LineEnd) {
      skip(Class::LineEnd);
      return count(kLineEnds);
    }
    if (first == Class::Wide) {
      for (std::size_t bytes = skip(Class::Wide); bytes > 0; --bytes)
        count(kWideBytes);
      return;
    }
    if (first == Class::Blank) return take_blanks(count);
    if (is_letter(at_ + 1)) {
      ++at_;
      return take_word(LowerMarked, UpperAhead, count);
    }
    take_marks(count);
  }

  // Upper-case letters that lower-case ones follow belong to them, as in "HttpServer".
  template <typename Count>
  void take_word(PieceClass lower, PieceClass upper, const Count& count) {
    const std::size_t capitals = skip(Class::Upper);
    const std::size_t smalls = skip(Class::Lower);
    if (smalls == 0) return count_long(upper, capitals, count);
    const auto word = text_.substr(at_ - capitals - smalls, capitals + smalls);
    if (capitals == 0 && word.size() > 4 && is_known(KnownPieces::Words, word))
      return count(kKnownBare + (lower - LowerBare));
    count_long(lower, capitals + smalls, count);
  }

  template <typename Count>
  void take_digits(const Count& count) {
    for (std::size_t length = skip(Class::Digit); length > 0;
         length -= std::min<std::size_t>(length, 3))
      count(kDigits);
  }

  // The last blank of a run belongs to the word or marks after it; before a number it stands alone.
  template <typename Count>
  void take_blanks(const Count& count) {
    const std::size_t length = skip(Class::Blank);
    const CharacterClass next = class_at(at_);
    const bool is_given_away = next <= Class::Upper || next == Class::Mark;
    const bool stands_alone = next == Class::Digit && length > 1;
    const std::size_t own = is_given_away || stands_alone ? length - 1 : length;
    if (stands_alone) count_long(Blanks, 1, count);
    if (own > 0 && next != Class::LineEnd) count_long(Blanks, own, count);
    if (next <= Class::Upper) return take_word(LowerSpaced, UpperAhead, count);
    if (next == Class::Mark) return take_marks(count, KnownPieces::SpacedMarks);
  }

  template <typename Count>
  void take_marks(const Count& count, KnownPieces known = KnownPieces::Marks) {
    const char mark = text_[at_];
    const std::size_t start = at_;
    skip(Class::Mark);
    const auto marks = text_.substr(start, at_ - start);
    const bool is_same = marks.find_first_not_of(mark) == std::string_view::npos;
    const bool ends_line = skip(Class::LineEnd) > 0;
    if (ends_line && is_known(KnownPieces::EndMarks, marks)) return count(kKnownEndMarks);
    if (!ends_line && !is_same && is_known(known, marks)) return count(kKnownMarks);
    count_long(ends_line ? EndMarks : is_same ? SameMarks : Marks, marks.size(), count);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <typename Count>
void for_each_piece(std::string_view text, const Count& count) {
  PieceReader(text).run(count);
}

}  // namespace nutshell::compaction
