#include "bench/compaction/o200k.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/file.h"

namespace nutshell::bench {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kLongestPiece = 4096;  // merging is quadratic in a piece
constexpr std::size_t kTokens = 199998;

// The published pattern, but for its last alternatives: `\s+(?!\S)|\s+` looks ahead, which RE2 does
// not; next_piece does it by hand. Unicode's white space is written out: RE2's \s is ASCII.
std::string published_pattern() {
  const std::string space =
      R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  const std::string before = R"([^\r\n\p{L}\p{N}]?)";
  const std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  const std::string lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  const std::string after = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
  return "(" + before + upper + "*" + lower + "+" + after + "|" + before + upper + "+" + lower +
         "*" + after + R"(|\p{N}{1,3}| ?[^)" + space + R"(\p{L}\p{N}]+[\r\n/]*|[)" + space +
         R"(]*[\r\n]+|([)" + space + "]+))";
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string decode_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char character : text) {
    const auto value = kBase64.find(character);
    if (value == std::string_view::npos) break;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>((bits >> held) & 0xFFU));
  }
  return bytes;
}

// The bytes of the last character of TEXT.
std::size_t last_character(std::string_view text) {
  std::size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U)
    --start;
  return text.size() - start;
}

}  // namespace

Vocabulary::Vocabulary(Ranks ranks)
    : ranks_(std::move(ranks)), pattern_(std::make_unique<re2::RE2>(published_pattern())) {}
Vocabulary::Vocabulary(Vocabulary&&) noexcept = default;
Vocabulary::~Vocabulary() = default;

Result<Vocabulary> Vocabulary::load(const std::filesystem::path& path) {
  const std::string text = TRY(read_file(path, 8U << 20U));
  Ranks ranks;
  ranks.reserve(kTokens);
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    ranks.emplace(decode_base64(line), static_cast<std::uint32_t>(ranks.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  if (ranks.size() != kTokens) {
    return failure(ErrorCode::Corrupt, path.native() + " does not hold the tokens of o200k");
  }
  return Vocabulary(std::move(ranks));
}

std::size_t Vocabulary::count(std::string_view text) const {
  std::size_t tokens = 0;
  while (!text.empty()) {
    const auto piece = text.substr(0, std::min(next_piece(text), kLongestPiece));
    tokens += ranks_.contains(piece) ? 1 : merge(piece);
    text.remove_prefix(piece.size());
  }
  return tokens;
}

// The length of the piece TEXT begins with. The last of several blanks belongs to the word after.
std::size_t Vocabulary::next_piece(std::string_view text) const {
  std::array<re2::StringPiece, 3> found;  // all, the piece, the piece if it is blank
  const re2::StringPiece input(text.data(), text.size());
  if (!pattern_->Match(input, 0, input.size(), re2::RE2::ANCHOR_START, found.data(), 3)) return 1;
  const std::string_view piece = text.substr(0, found[0].size());
  const bool is_blank = found[2].data() != nullptr;
  if (!is_blank || piece.size() == text.size()) return piece.size();
  const std::size_t last = last_character(piece);
  return piece.size() > last ? piece.size() - last : piece.size();
}

std::uint32_t Vocabulary::rank_of(std::string_view bytes) const {
  const auto found = ranks_.find(bytes);
  return found == ranks_.end() ? kNoRank : found->second;
}

// Joins the pair of neighbours with the lowest rank until no pair is a token.
std::size_t Vocabulary::merge(std::string_view piece) const {
  std::vector<std::size_t> starts(piece.size() + 1);
  for (std::size_t index = 0; index < starts.size(); ++index)
    starts[index] = index;
  while (starts.size() > 2) {
    std::uint32_t lowest = kNoRank;
    std::size_t place = 0;
    for (std::size_t index = 0; index + 2 < starts.size(); ++index) {
      const auto rank = rank_of(piece.substr(starts[index], starts[index + 2] - starts[index]));
      if (rank >= lowest) continue;
      lowest = rank;
      place = index;
    }
    if (lowest == kNoRank) break;
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
  return starts.size() - 1;
}

}  // namespace nutshell::bench
