#include "core/line_diff.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

namespace nutshell {
namespace {

constexpr std::uint64_t kPlenty = 50'000'000;

std::string diff(std::string_view before, std::string_view after, std::size_t context = 3) {
  return unified_diff(before, after, {"a/x", "b/x", context});
}

// Applies the changes to the old lines.
std::string apply(const std::vector<std::string_view>& before,
                  const std::vector<std::string_view>& after,
                  const std::vector<LineChange>& changes) {
  std::string text;
  std::size_t x = 0;
  for (const LineChange& change : changes) {
    for (; x < change.old_first; ++x)
      text += before[x];
    x += change.old_count;
    for (std::size_t y = 0; y < change.new_count; ++y)
      text += after[change.new_first + y];
  }
  for (; x < before.size(); ++x)
    text += before[x];
  return text;
}

std::size_t size_of(const std::vector<LineChange>& changes) {
  std::size_t lines = 0;
  for (const LineChange& change : changes)
    lines += change.old_count + change.new_count;
  return lines;
}

// The length of the shortest difference, by the textbook table.
std::size_t shortest(const std::vector<std::string_view>& a,
                     const std::vector<std::string_view>& b) {
  std::vector<std::vector<std::size_t>> longest(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      longest[i][j] = a[i - 1] == b[j - 1] ? longest[i - 1][j - 1] + 1
                                           : std::max(longest[i - 1][j], longest[i][j - 1]);
    }
  }
  return a.size() + b.size() - 2 * longest[a.size()][b.size()];
}

std::string random_text(std::mt19937& random, std::size_t lines, unsigned letters) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    text += static_cast<char>('a' + random() % letters);
    if (i + 1 < lines || random() % 4 != 0) text += '\n';
  }
  return text;
}

TEST(UnifiedDiff, IsEmptyForEqualTexts) {
  EXPECT_EQ(diff("", ""), "");
  EXPECT_EQ(diff("a\nb\n", "a\nb\n"), "");
}

TEST(UnifiedDiff, ShowsChangedLinesWithTheirContext) {
  EXPECT_EQ(diff("1\n2\n3\n4\n5\n", "1\n2\nthree\n4\n5\n", 1),
            "--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n");
}

TEST(UnifiedDiff, CallsAnEmptySideByTheLineBefore) {
  EXPECT_EQ(diff("", "new\n"), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+new\n");
  EXPECT_EQ(diff("old\n", ""), "--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-old\n");
  EXPECT_EQ(diff("1\n2\n", "1\nx\n2\n", 0), "--- a/x\n+++ b/x\n@@ -1,0 +2 @@\n+x\n");
}

TEST(UnifiedDiff, SaysWhereTheLastNewlineIsMissing) {
  EXPECT_EQ(diff("a\nb", "a\nb\n"),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
}

TEST(UnifiedDiff, JoinsChangesThatShareContextAndPartsOthers) {
  std::string before;
  std::string after;
  for (int i = 1; i <= 30; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 5 || i == 11 || i == 25 ? "x" : std::to_string(i)) + "\n";
  }
  const std::string text = diff(before, after);
  std::size_t hunks = 0;
  for (std::size_t at = text.find("@@ -"); at != std::string::npos; at = text.find("@@ -", at + 1))
    ++hunks;
  EXPECT_EQ(hunks, 2U) << text;
}

TEST(DiffLines, IsShortestAndLeadsFromOldToNew) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const unsigned letters = 1 + static_cast<unsigned>(random() % 6);
    const std::string before = random_text(random, random() % 24, letters);
    const std::string after = random_text(random, random() % 24, letters);
    const auto old_lines = split_lines(before);
    const auto new_lines = split_lines(after);
    const auto changes = diff_lines(old_lines, new_lines, kPlenty);
    ASSERT_EQ(apply(old_lines, new_lines, changes), after) << before << "->" << after;
    ASSERT_EQ(size_of(changes), shortest(old_lines, new_lines)) << before << "->" << after;
  }
}

TEST(DiffLines, StaysTrueWhenItsStepsAreUsedUp) {
  std::mt19937 random(8);
  for (std::uint64_t steps = 0; steps < 600; steps += 7) {
    const std::string before = random_text(random, 60, 3);
    const std::string after = random_text(random, 60, 3);
    const auto old_lines = split_lines(before);
    const auto new_lines = split_lines(after);
    EXPECT_EQ(apply(old_lines, new_lines, diff_lines(old_lines, new_lines, steps)), after);
  }
}

TEST(DiffLines, StaysTrueWhenASearchIsCut) {
  std::mt19937 random(9);
  const std::string before = random_text(random, 4000, 3);
  const std::string after = random_text(random, 4000, 3);
  const auto old_lines = split_lines(before);
  const auto new_lines = split_lines(after);
  const auto changes = diff_lines(old_lines, new_lines, kPlenty);
  EXPECT_EQ(apply(old_lines, new_lines, changes), after);
  EXPECT_LT(size_of(changes), 6500U);
}

TEST(DiffLines, TakesBoundedTimeForInputMadeToBeSlow) {
  std::mt19937 random(10);
  const std::string before = random_text(random, 500'000, 2);
  const std::string after = random_text(random, 500'000, 2);
  const std::clock_t start = std::clock();  // CPU time, which does not depend on other processes
  const auto old_lines = split_lines(before);
  const auto new_lines = split_lines(after);
  const auto changes = diff_lines(old_lines, new_lines, kPlenty);
  EXPECT_EQ(apply(old_lines, new_lines, changes), after);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace nutshell
