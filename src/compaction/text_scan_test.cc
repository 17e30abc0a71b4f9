#include "compaction/text_scan.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

TEST(TextScan, LocationHasLineAndColumn) {
  const auto found = split_location("src/a.cc:4:12: error: no such thing");
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(found->where), "src/a.cc:4:12");
  EXPECT_EQ(found->rest, "error: no such thing");
}

TEST(TextScan, LocationMayHaveNoColumn) {
  const auto found = split_location("a.py:7: in test_x");
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(found->where), "a.py:7");
  EXPECT_EQ(found->rest, "in test_x");
}

TEST(TextScan, LocationMayEndTheLine) {
  EXPECT_EQ(to_text(split_location("a.rs:7:3")->where), "a.rs:7:3");
  EXPECT_EQ(to_text(split_location("a.rs:7")->where), "a.rs:7");
}

TEST(TextScan, LocationKeepsADrive) {
  const auto found = split_location("C:\\a\\b.c:4:1: warning: x");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->where.file, "C:\\a\\b.c");
}

TEST(TextScan, TimeIsNoLocation) {
  EXPECT_FALSE(split_location("12:30pm"));
  EXPECT_FALSE(split_location("note: this"));
  EXPECT_FALSE(split_location(" a.c:4: x"));
  EXPECT_FALSE(split_location(":4: x"));
  EXPECT_FALSE(split_location("a.c:99999999999999999999: x"));
}

TEST(TextScan, NumberThatDoesNotFitIsLeftAlone) {
  std::string_view text = "99999999999999999999 x";
  EXPECT_FALSE(take_number(text));
  EXPECT_EQ(text, "99999999999999999999 x");
  text = "12 passed";
  EXPECT_EQ(take_number(text), 12U);
  EXPECT_EQ(text, " passed");
}

TEST(TextScan, WordsAndPartsAreSplit) {
  EXPECT_EQ(split_words("  a\tbc  d "), (std::vector<std::string_view>{"a", "bc", "d"}));
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
}

TEST(TextScan, PrefixIsTakenOnlyWhenThere) {
  std::string_view text = "error: x";
  EXPECT_FALSE(take_prefix(text, "warning"));
  EXPECT_TRUE(take_prefix(text, "error: "));
  EXPECT_EQ(text, "x");
  text = "a -> b";
  EXPECT_EQ(take_until(text, " -> "), "a");
  EXPECT_EQ(text, "b");
  EXPECT_FALSE(take_until(text, "->"));
}

}  // namespace
}  // namespace nutshell::compaction
