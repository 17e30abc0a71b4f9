// Finds a fixed string in bytes, as fast as memory delivers them: searches for two of its rarest
// bytes side by side in whole vector registers.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace nutshell::init::search {

enum class LetterCase { Exact, Folded };  // folded: ASCII letters only

class LiteralScanner {
 public:
  // `literal` is not empty.
  LiteralScanner(std::string_view literal, LetterCase letter_case);

  // Returns the first place at or after `from`, or npos.
  [[nodiscard]] std::size_t find(std::string_view text, std::size_t from) const;
  // The same without vector registers; for machines that have none, and to compare.
  [[nodiscard]] std::size_t find_plainly(std::string_view text, std::size_t from) const;

  [[nodiscard]] const std::string& literal() const { return literal_; }

 private:
  [[nodiscard]] bool is_at(const char* place) const;
  [[nodiscard]] std::size_t find_in_blocks(std::string_view text, std::size_t from) const;

  std::string literal_;    // lower case if folded
  std::string fold_;       // for each byte, the bit that its other case differs in
  std::size_t first_ = 0;  // its two rarest bytes
  std::size_t second_ = 0;
  bool is_folded_ = false;
  bool has_vectors_ = false;
};

// Lower is rarer, in source code and prose.
unsigned byte_rank(char byte);

}  // namespace nutshell::init::search
