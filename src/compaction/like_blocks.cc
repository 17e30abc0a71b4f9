#include "compaction/like_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "compaction/body_line.h"
#include "compaction/like_lines.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFoldFrom = 4;
constexpr std::size_t kMostLines = 40;
constexpr std::size_t kMostParts = 400;  // names in a block
constexpr std::size_t kMostNames = 3;
constexpr std::size_t kCheapBytes = 480;  // of a list of names

using Parts = std::vector<std::string_view>;

// "0x7f12", "<0x0712>", "1.2ms", "elapsed=9.9s": addresses and times name nothing. Other numbers
// may be those of a thread or a value, and are listed.
bool is_noise(std::string_view part) {
  const auto equals = part.find('=');
  if (equals != std::string_view::npos) part = part.substr(equals + 1);
  if (part.starts_with("0x")) return true;
  if (part.empty() || !is_digit(part.front())) return false;
  const auto unit = part.substr(std::min(part.find_first_not_of("0123456789.,"), part.size()));
  constexpr std::array<std::string_view, 6> kUnits = {"ns", "us", "ms", "s", "m", "h"};
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
}

class BlockFolder {
 public:
  BlockFolder(Lines lines, const std::vector<LineBlock>& blocks, Listing listing)
      : lines_(lines), blocks_(blocks), listing_(listing) {}

  std::vector<BlockFold> fold() {
    std::unordered_map<std::uint64_t, std::size_t> known;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t at = 0; at < blocks_.size(); ++at) {
      if (blocks_[at].lines > kMostLines) continue;
      const auto [found, is_new] = known.emplace(likeness(blocks_[at]), groups.size());
      if (is_new) groups.emplace_back();
      groups[found->second].push_back(at);
    }
    std::vector<BlockFold> folds;
    for (const auto& group : groups) {
      if (group.size() < kFoldFrom) continue;
      if (auto fold = fold_group(group); !fold.members.empty()) folds.push_back(std::move(fold));
    }
    return folds;
  }

 private:
  [[nodiscard]] std::uint64_t likeness(const LineBlock& block) const {
    std::uint64_t hash = block.lines;
    for (std::size_t at = 0; at < block.lines; ++at)
      hash = (hash ^ likeness_of(lines_[block.first + at])) * 0x9e3779b97f4a7c15ULL;
    return hash;
  }

  [[nodiscard]] Parts parts_of_block(const LineBlock& block) const {
    Parts parts;
    for (std::size_t at = 0; at < block.lines; ++at) {
      const auto of_line = parts_of(lines_[block.first + at]);
      parts.insert(parts.end(), of_line.begin(), of_line.end());
    }
    return parts;
  }

  // Leaves out the blocks that differ where most are equal: they are shown.
  static void keep_usual(std::vector<Parts>& rows, std::vector<std::size_t>& members) {
    std::vector<bool> is_odd(rows.size(), false);
    for (std::size_t at = 0; at < rows.front().size(); ++at) {
      std::unordered_map<std::string_view, std::size_t> counts;
      for (const auto& row : rows)
        ++counts[row[at]];
      const auto most =
          std::max_element(counts.begin(), counts.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most->second * 10 < rows.size() * 6) continue;
      for (std::size_t row = 0; row < rows.size(); ++row)
        is_odd[row] = is_odd[row] || (rows[row][at] != most->first && !is_noise(rows[row][at]));
    }
    std::size_t kept = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (is_odd[row]) continue;
      rows[kept] = rows[row];
      members[kept++] = members[row];
    }
    rows.resize(kept);
    members.resize(kept);
  }

  // Positions whose names differ and that no earlier position repeats.
  static std::vector<std::size_t> naming_positions(const std::vector<Parts>& rows) {
    std::vector<std::size_t> positions;
    for (std::size_t at = 0; at < rows.front().size() && positions.size() <= kMostNames; ++at) {
      const bool differs = std::any_of(
          rows.begin(), rows.end(), [&](const Parts& row) { return row[at] != rows.front()[at]; });
      const bool is_said = std::any_of(positions.begin(), positions.end(), [&](std::size_t before) {
        return std::all_of(rows.begin(), rows.end(), [&](const Parts& row) {
          return contains(row[at], row[before]) || contains(row[before], row[at]);
        });
      });
      const bool is_only_noise = std::all_of(rows.begin(), rows.end(),
                                             [&](const Parts& row) { return is_noise(row[at]); });
      if (differs && !is_said && !is_only_noise) positions.push_back(at);
    }
    return positions;
  }

  [[nodiscard]] BlockFold fold_group(std::vector<std::size_t> members) const {
    std::vector<Parts> rows;
    std::vector<std::size_t> kept;
    for (const std::size_t member : members) {
      auto parts = parts_of_block(blocks_[member]);
      const bool is_odd =
          parts.size() > kMostParts || (!rows.empty() && parts.size() != rows.front().size());
      if (is_odd) continue;
      rows.push_back(std::move(parts));
      kept.push_back(member);
    }
    if (rows.size() < kFoldFrom) return {};
    keep_usual(rows, kept);
    if (rows.size() < kFoldFrom) return {};
    const auto positions = naming_positions(rows);
    if (positions.size() > kMostNames) return {};
    BlockFold fold;
    fold.note = fmt::format(" (×{} alike", rows.size());
    std::size_t unlisted = 0;
    for (std::size_t row = 1; row < rows.size() && !positions.empty(); ++row) {
      if (listing_ == Listing::WhileCheap && fold.note.size() > kCheapBytes) {
        ++unlisted;
        continue;
      }
      fold.note += row == 1 ? "; also " : ", ";
      for (std::size_t at = 0; at < positions.size(); ++at)
        fold.note += fmt::format("{}{}", at == 0 ? "" : " ", rows[row][positions[at]]);
    }
    if (unlisted > 0) fold.note += fmt::format(", {} more", unlisted);
    fold.note += ')';
    fold.members = std::move(kept);
    return fold;
  }

  Lines lines_;
  const std::vector<LineBlock>& blocks_;
  Listing listing_;
};

}  // namespace

std::vector<BlockFold> fold_blocks(Lines lines, const std::vector<LineBlock>& blocks,
                                   Listing listing) {
  return BlockFolder(lines, blocks, listing).fold();
}

}  // namespace nutshell::compaction
