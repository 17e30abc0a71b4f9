#include "compaction/fact_blocks.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

std::string text_of(const std::vector<FactBlock>& blocks) {
  std::string text;
  for (const FactBlock& block : blocks)
    text += block.head + block.detail;
  return text;
}

Diagnostic unused(const std::string& file, std::uint32_t line, const std::string& name) {
  return {Severity::Warning, {file, line, 7}, "unused variable '" + name + "'", "-Wunused", {}};
}

TEST(FactBlocks, FailureHasItsPlaceAndDetail) {
  EXPECT_EQ(text_of(failure_blocks({{"tests::a", "FAIL", {"src/lib.rs", 9, 5}, {"left: 1"}}})),
            "FAIL tests::a  src/lib.rs:9:5\n  left: 1\n");
}

TEST(FactBlocks, ErrorStandsAlone) {
  EXPECT_EQ(
      text_of(diagnostic_blocks({{Severity::Error, {"a.rs", 4, 2}, "mismatch", "E0308", {}}})),
      "a.rs:4:2: error: mismatch [E0308]\n");
}

TEST(FactBlocks, EqualMessagesShareALine) {
  EXPECT_EQ(text_of(diagnostic_blocks(
                {unused("a.c", 1, "x"), unused("a.c", 9, "x"), unused("b.c", 2, "x")})),
            "warning: unused variable 'x' [-Wunused] ×3: a.c:1:7 9:7 b.c:2:7\n");
}

TEST(FactBlocks, RuleIsSaidOnce) {
  EXPECT_EQ(text_of(diagnostic_blocks(
                {unused("a.c", 1, "x"), unused("a.c", 9, "y"), unused("b.c", 2, "z")})),
            "warning [-Wunused] ×3:\na.c:\n 1:7 unused variable 'x'\n 9:7 unused variable 'y'\n"
            "b.c:2:7: unused variable 'z'\n");
}

TEST(FactBlocks, FileIsSaidOnceAndDetailsLieDeeper) {
  const std::vector<Diagnostic> given = {{Severity::Error, {"a.c", 1, 0}, "bad", "", {"why"}},
                                         {Severity::Error, {"a.c", 2, 5}, "worse", "", {}},
                                         {Severity::Error, {"", 0, 0}, "stopped", "", {}},
                                         {Severity::Error, {"a.c", 0, 0}, "no line", "", {}},
                                         {Severity::Warning, {"a.c", 3, 5}, "odd", "", {}}};
  EXPECT_EQ(text_of(diagnostic_blocks(given)),
            "a.c:\n 1: error: bad\n  why\n 2:5 error: worse\nerror: stopped\na.c: error: no line\n"
            "a.c:3:5: warning: odd\n");
}

TEST(FactBlocks, ErrorsComeFirst) {
  const auto text = text_of(
      diagnostic_blocks({unused("a.c", 1, "x"), {Severity::Error, {"b.c", 2, 1}, "bad", "", {}}}));
  EXPECT_TRUE(text.starts_with("b.c:2:1: error: bad\n")) << text;
}

TEST(FactBlocks, NoPlaceIsLostAmongMany) {
  std::vector<Diagnostic> many;
  for (std::uint32_t line = 1; line <= 500; ++line)
    many.push_back(unused("a.c", line, "x"));
  std::size_t facts = 0;
  for (const FactBlock& block : diagnostic_blocks(many))
    facts += block.facts;
  EXPECT_EQ(facts, 500U);
  const auto text = text_of(diagnostic_blocks(many));
  for (std::uint32_t line = 1; line <= 500; ++line)
    EXPECT_NE(text.find(std::to_string(line) + ":7"), std::string::npos);
}

TEST(FactBlocks, EveryLineOfPlacesSaysWhatIsThere) {
  std::vector<Diagnostic> many;
  for (std::uint32_t line = 1; line <= 90; ++line)
    many.push_back({Severity::Error, {"a.c", line, 0}, "bad", "", {"why"}});
  std::size_t lines = 0;
  for (const FactBlock& block : diagnostic_blocks(many)) {
    EXPECT_TRUE(block.head.starts_with("error: bad")) << block.head;
    ++lines;
  }
  EXPECT_EQ(lines, 3U);
}

TEST(FactBlocks, FileNamedLikeACallOfOursIsData) {
  const auto text = text_of(diagnostic_blocks({unused("recall o7f3a.c", 1, "x"),  //
                                               unused("recall o7f3a.c", 2, "x")}));
  EXPECT_TRUE(text.starts_with("| warning")) << text;
}

}  // namespace
}  // namespace nutshell::compaction
