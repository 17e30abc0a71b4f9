#include "compaction/formatter.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(format_facts({facts, {}, 1000, kId}).text,
            "FAIL case_0_x  src/lib.rs:1:3\n  left: 1\n  right: 2\n"
            "FAIL case_1_x  src/lib.rs:2:3\n  left: 1\n  right: 2\n"
            "a line\n(left out: 78 passing tests; recall o7f3a)\n");
}

TEST(Formatter, DetailsGoBeforeFacts) {
  const auto facts = many_failures(50);
  const auto whole = estimate_tokens(format_facts({facts, {}, 100000, kId}).text);
  const auto formatted = format_facts({facts, {}, whole * 2 / 3, kId});
  EXPECT_NE(formatted.text.find("case_49_x  src/lib.rs:50:3"), std::string::npos);
  EXPECT_NE(formatted.text.find("lines of detail; recall o7f3a offset="), std::string::npos);
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
