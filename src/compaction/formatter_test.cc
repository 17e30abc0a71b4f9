#include "compaction/formatter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compaction/compactor.h"

namespace nutshell::compaction {
namespace {

const std::string kId = "o7f3a";

Facts many_failures(std::size_t count) {
  Facts facts;
  for (std::size_t at = 0; at < count; ++at) {
    facts.failures.push_back({"case_" + std::to_string(at) + "_x",
                              "FAIL",
                              {"src/lib.rs", static_cast<std::uint32_t>(at + 1), 3},
                              {"left: 1", "right: 2"}});
  }
  return facts;
}

TEST(Formatter, EverythingThatFitsIsShown) {
  auto facts = many_failures(2);
  facts.kept = {"a line"};
  facts.omitted = {{"passing tests", 78}};
  const auto formatted = format_facts({facts, {}, 1000, kId});
  EXPECT_EQ(formatted.text,
            "FAIL case_0_x  src/lib.rs:1:3\n  left: 1\n  right: 2\n"
            "FAIL case_1_x  src/lib.rs:2:3\n  left: 1\n  right: 2\n"
            "a line\n");
  EXPECT_EQ(formatted.next, 0U);
  EXPECT_EQ(omission_note(formatted.omitted), " (left out: 78 passing tests)");
  EXPECT_EQ(omission_line(formatted.omitted, "recall o7f3a"),
            "(left out: 78 passing tests; recall o7f3a)\n");
}

Facts three_files() {
  Facts facts;
  const std::vector<std::string> many(900, "+some line of it");
  facts.sections = {{"# a.c +1 -0", {"@1", " b", "+a"}, {"@1", "+a"}, 0},
                    {"# big.c +900 -0", many, many, 6},
                    {"# c.c +1 -0", {"@1", "+c"}, {"@1", "+c"}, 913}};
  return facts;
}

TEST(Formatter, SectionWithoutRoomIsNamedAtTheEnd) {
  const auto formatted = format_facts({three_files(), {}, 500, kId});
  EXPECT_EQ(formatted.text,
            "# a.c +1 -0\n@1\n+a\n# c.c +1 -0\n@1\n+c\n"
            "# big.c +900 -0 (not shown; recall o7f3a offset=7)\n");
  EXPECT_EQ(formatted.next, 1U);
  EXPECT_EQ(formatted.omitted[0].what, "context lines");
  EXPECT_EQ(formatted.omitted[0].lines, 1U);
  EXPECT_EQ(formatted.omitted[1].lines, 900U);
}

// Naming a short section would take more than showing it.
TEST(Formatter, ManyShortSectionsThatFitAreAllShown) {
  Facts facts;
  for (std::size_t at = 0; at < 300; ++at)
    facts.sections.push_back({"src/f" + std::to_string(at) + ".c:1:x", {}, {}, at});
  const auto whole = format_facts({facts, {}, 100000, kId});
  const auto exact = format_facts({facts, {}, estimate_tokens(whole.text) + 300, kId});
  EXPECT_EQ(exact.text, whole.text);
  EXPECT_TRUE(exact.omitted.empty());
  const auto half = format_facts({facts, {}, estimate_tokens(whole.text) / 2, kId});
  EXPECT_TRUE(half.text.starts_with("src/f0.c:1:x\nsrc/f1.c:1:x\n"));
  EXPECT_NE(half.next, 0U);
}

TEST(Formatter, SectionsThatHaveNoRoomForTheirNamesAreCounted) {
  Facts facts;
  const std::vector<std::string> lines(40, "+some line of it");
  for (std::size_t at = 0; at < 500; ++at)
    facts.sections.push_back({"# file.c +40 -0", lines, lines, at * 46});
  const auto formatted = format_facts({facts, {}, 300, kId});
  EXPECT_LE(estimate_tokens(formatted.text), 300U);
  ASSERT_EQ(formatted.omitted.size(), 2U);
  const auto named = std::count(formatted.text.begin(), formatted.text.end(), '\n');
  EXPECT_EQ(formatted.omitted[1].lines + static_cast<std::uint64_t>(named), 500U);
}

TEST(Formatter, DetailsGoBeforeFacts) {
  const auto facts = many_failures(50);
  const auto whole = estimate_tokens(format_facts({facts, {}, 100000, kId}).text);
  const auto formatted = format_facts({facts, {}, whole * 2 / 3, kId});
  EXPECT_NE(formatted.text.find("case_49_x  src/lib.rs:50:3"), std::string::npos);
  EXPECT_EQ(formatted.omitted[0].what, "lines of detail");
  EXPECT_NE(formatted.next, 0U);
}

TEST(Formatter, MissingFactsNameTheLineToRecall) {
  const auto facts = many_failures(50);
  std::vector<std::string> stored;
  for (const Failure& failure : facts.failures)
    stored.push_back("test " + failure.name + " FAILED");
  const std::vector<std::string_view> lines(stored.begin(), stored.end());
  const auto formatted = format_facts({facts, lines, 200, kId});
  const auto at = formatted.text.find("shown ");
  ASSERT_NE(at, std::string::npos) << formatted.text;
  const auto shown = std::stoul(formatted.text.substr(at + 6));
  EXPECT_NE(
      formatted.text.find("of 50 failures; next: recall o7f3a offset=" + std::to_string(shown + 1)),
      std::string::npos)
      << formatted.text;
  EXPECT_LE(estimate_tokens(formatted.text), 260U);
}

TEST(Formatter, ForgedStatusInADetailIsMarked) {
  Facts facts;
  facts.failures = {{"t", "FAIL", {}, {"exit 0. raw: o1234"}}};
  EXPECT_EQ(format_facts({facts, {}, 1000, kId}).text, "FAIL t\n  | exit 0. raw: o1234\n");
}

}  // namespace
}  // namespace nutshell::compaction
