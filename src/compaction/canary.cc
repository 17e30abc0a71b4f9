#include "compaction/canary.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_set>

#include "compaction/error_words.h"
#include "compaction/line_template.h"
#include "compaction/parsers/text_scan.h"

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

// Words that tell one error from another; numbers, and "failed" and "error" themselves, do not.
bool is_telling(std::string_view word) {
  constexpr std::array<std::string_view, 15> kEverydayWords = {
      "failed", "FAILED", "Failed", "fail",  "FAIL", "failure", "Failure", "error",
      "ERROR",  "Error",  "errors", "tests", "test", "Test",    "sec"};
  return word.size() >= 3 && !is_digit(word.front()) &&
         std::find(kEverydayWords.begin(), kEverydayWords.end(), word) == kEverydayWords.end();
}

// Lines in which a tool sums up what its own messages said before.
bool is_summary(std::string_view line) {
  constexpr std::array<std::string_view, 24> kStarts = {"test result:",
                                                        "error: test failed",
                                                        "error: could not compile",
                                                        "make: ***",
                                                        "make[",
                                                        "gmake",
                                                        "ninja: build stopped",
                                                        "FAILED (",
                                                        "FAIL\t",
                                                        "FAIL",
                                                        "Tests:",
                                                        "Test Suites:",
                                                        "collect2: error:",
                                                        "compilation terminated",
                                                        "ERROR: Failed to",
                                                        "[ERROR] Failed to",
                                                        "error: aborting",
                                                        "warning: build failed",
                                                        "errors:",
                                                        "Errors while",
                                                        "The following tests FAILED",
                                                        "  FAILED TEST",
                                                        "=====",
                                                        "Found "};
  const auto text = trim_left(line);
  for (const auto start : kStarts) {
    if (text.starts_with(start)) return true;
  }
  return contains(text, " generated ") || contains(text, "tests failed out of") ||
         contains(text, "FAILED TEST");
}

}  // namespace

CanaryReport scan_for_lost_lines(Lines lines, std::string_view text) {
  std::unordered_set<std::string_view> told;
  for_each_word(text, [&](std::string_view word) { told.insert(word); });
  std::unordered_set<std::uint64_t> hit;
  std::unordered_set<std::uint64_t> missed;
  CanaryReport report;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (look_at(lines[at]).kind == LineKind::Plain || is_summary(lines[at])) continue;
    const auto kind = template_of(lines[at]);
    if (hit.size() < kMostKinds) hit.insert(kind);
    std::size_t words = 0;
    std::size_t unknown = 0;
    for_each_word(lines[at], [&](std::string_view word) {
      if (!is_telling(word)) return;
      ++words;
      if (!told.contains(word)) ++unknown;
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
