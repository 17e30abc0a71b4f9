#include "compaction/canary.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <unordered_set>

#include "compaction/error_words.h"
#include "compaction/line_template.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostMissing = 200;
constexpr std::size_t kMostKinds = 10000;

bool is_word_part(char character) {
  const char small = static_cast<char>(character | 0x20);
  return (small >= 'a' && small <= 'z') || is_digit(character) || character == '_' ||
         (static_cast<unsigned char>(character) & 0x80U) != 0;
}

template <typename Use>
void for_each_word(std::string_view text, const Use& use) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = at;
    while (at < text.size() && is_word_part(text[at]))
      ++at;
    if (at > start) use(text.substr(start, at - start));
    ++at;
  }
}

// Returns the words that distinguish one error from another: no numbers, not "failed" or "error".
bool is_telling(std::string_view word) {
  constexpr std::array<std::string_view, 15> kEverydayWords = {
      "failed", "FAILED", "Failed", "fail",  "FAIL", "failure", "Failure", "error",
      "ERROR",  "Error",  "errors", "tests", "test", "Test",    "sec"};
  return word.size() >= 3 && !is_digit(word.front()) &&
         std::find(kEverydayWords.begin(), kEverydayWords.end(), word) == kEverydayWords.end();
}

// Returns whether a line contains one of the parts. All are views of one text, so addresses are
// compared.
class AccountedLines {
 public:
  explicit AccountedLines(const std::vector<std::string_view>& parts) {
    starts_.reserve(parts.size());
    for (const auto part : parts)
      starts_.push_back(part.data());
    std::sort(starts_.begin(), starts_.end(), std::less<>{});
  }

  [[nodiscard]] bool has(std::string_view line) const {
    const auto found = std::lower_bound(starts_.begin(), starts_.end(), line.data(), std::less<>{});
    return found != starts_.end() && std::less<>{}(*found, line.data() + line.size());
  }

 private:
  std::vector<const char*> starts_;
};

}  // namespace

CanaryReport scan_for_lost_lines(Lines lines, const ReportedText& reported) {
  std::unordered_set<std::string_view> reported_words;
  for_each_word(reported.text, [&](std::string_view word) { reported_words.insert(word); });
  const AccountedLines accounted(reported.accounted);
  std::unordered_set<std::uint64_t> hit;
  std::unordered_set<std::uint64_t> missed;
  CanaryReport report;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (look_at(lines[at]).kind == LineKind::Plain || accounted.has(lines[at])) continue;
    const auto kind = template_of(lines[at]);
    if (hit.size() < kMostKinds) hit.insert(kind);
    std::size_t words = 0;
    std::size_t unknown = 0;
    for_each_word(lines[at], [&](std::string_view word) {
      if (!is_telling(word)) return;
      ++words;
      if (!reported_words.contains(word)) ++unknown;
    });
    if (unknown * 4 <= words) continue;
    const bool is_new = missed.size() < kMostKinds && missed.insert(kind).second;
    if (is_new && report.missing.size() < kMostMissing) report.missing.push_back(at);
  }
  report.hits = hit.size();
  report.missed = missed.size();
  return report;
}

}  // namespace nutshell::compaction
