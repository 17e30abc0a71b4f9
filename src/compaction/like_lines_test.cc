#include "compaction/like_lines.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

TEST(LikeLines, DifferOnlyInNames) {
  EXPECT_EQ(likeness_of("changed: [web01]"), likeness_of("changed: [database]"));
  EXPECT_EQ(likeness_of("fetch a-1.2 ***"), likeness_of("fetch b-0.3  *********"));
  EXPECT_NE(likeness_of("changed: [a]"), likeness_of("skipped: [a]"));
  EXPECT_NE(likeness_of("must be replaced"), likeness_of("will be created"));
}

TEST(LikeLines, FoldGivesEveryName) {
  const std::vector<std::string_view> lines = {
      "Get package a-1.2 from the mirror", "Get package b-1.3 from the mirror",
      "Get package c-1.4 from the mirror", "Get package d-1.5 from the mirror"};
  const auto fold = fold_like(lines, Listing::All);
  EXPECT_EQ(fold.text, "Get package a-1.2 from the mirror (×4; also b-1.3, c-1.4, d-1.5)");
  EXPECT_EQ(fold.members.size(), 4U);
  EXPECT_EQ(fold.unlisted, 0U);
}

TEST(LikeLines, OutlierStaysOut) {
  std::vector<std::string> rows;
  for (int at = 0; at < 9; ++at)
    rows.push_back("host web-0" + std::to_string(at) + " is done with failed=0 and nothing more");
  rows.emplace_back("host web-09 is done with failed=3 and nothing more");
  const std::vector<std::string_view> lines(rows.begin(), rows.end());
  const auto fold = fold_like(lines, Listing::All);
  EXPECT_EQ(fold.members.size(), 9U);
  EXPECT_EQ(fold.text.find("web-09"), std::string::npos);
}

TEST(LikeLines, CheapListSaysHowManyItDoesNotGive) {
  std::vector<std::string> rows;
  for (int at = 0; at < 500; ++at)
    rows.push_back("Downloading package-number-" + std::to_string(at) + " from the mirror");
  const std::vector<std::string_view> lines(rows.begin(), rows.end());
  const auto fold = fold_like(lines, Listing::WhileCheap);
  EXPECT_GT(fold.unlisted, 400U);
  EXPECT_NE(fold.text.find(", " + std::to_string(fold.unlisted) + " more)"), std::string::npos);
}

TEST(LikeLines, TooFewOrTooDifferentAreNotFolded) {
  const std::vector<std::string_view> few = {"a 1", "a 2", "a 3"};
  EXPECT_TRUE(fold_like(few, Listing::All).members.empty());
  const std::vector<std::string_view> rows = {"a1 b1 c1 d1", "a2 b2 c2 d2", "a3 b3 c3 d3",
                                              "a4 b4 c4 d4"};
  EXPECT_TRUE(fold_like(rows, Listing::All).members.empty());
}

}  // namespace
}  // namespace nutshell::compaction
