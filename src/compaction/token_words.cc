#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compaction/token_pieces.h"

namespace nutshell::compaction {
namespace {

// Separated by blanks. The words are frequent in the output of tools; the marks are the first in
// o200k.
constexpr std::string_view kWords =
#include "compaction/token_words.inc"
    ;
constexpr std::string_view kMarks =
#include "compaction/token_marks.inc"
    ;
constexpr std::string_view kSpacedMarks =
#include "compaction/token_marks_spaced.inc"
    ;
constexpr std::string_view kEndMarks =
#include "compaction/token_marks_ending.inc"
    ;

class PieceTable {
 public:
  // The pieces must outlive the table.
  explicit PieceTable(std::string_view pieces)
      : slots_(slots_for(static_cast<std::size_t>(std::count(pieces.begin(), pieces.end(), ' ')))) {
    while (!pieces.empty()) {
      const auto piece = pieces.substr(0, pieces.find(' '));
      pieces.remove_prefix(std::min(piece.size() + 1, pieces.size()));
      longest_ = std::max(longest_, piece.size());
      slots_[find(piece)] = piece;
    }
  }

  [[nodiscard]] bool holds(std::string_view piece) const {
    return piece.size() <= longest_ && !slots_[find(piece)].empty();
  }

 private:
  // Many times the number of pieces, so that most look-ups end at once; a power of two.
  static std::size_t slots_for(std::size_t pieces) {
    std::size_t slots = 64;
    while (slots < pieces * 8)
      slots *= 2;
    return slots;
  }

  // The slot of the piece, or the empty one where it would be.
  [[nodiscard]] std::size_t find(std::string_view piece) const {
    std::uint64_t hash = 0;
    for (const char letter : piece)
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x9e3779b97f4a7c15ULL;
    std::size_t slot = static_cast<std::size_t>(hash >> 40U) & (slots_.size() - 1);
    while (!slots_[slot].empty() && slots_[slot] != piece)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  std::vector<std::string_view> slots_;
  std::size_t longest_ = 0;
};

}  // namespace

bool is_known(KnownPieces pieces, std::string_view piece) {
  static const std::array<PieceTable, 4> kTables = {
      PieceTable(kWords), PieceTable(kMarks), PieceTable(kSpacedMarks), PieceTable(kEndMarks)};
  return kTables[static_cast<std::size_t>(pieces)].holds(piece);
}

}  // namespace nutshell::compaction
