#include "compaction/canary.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

TEST(Canary, LineThatIsToldDiffersInOrderOnly) {
  const std::vector<std::string_view> lines = {"a.c:4:2: error: expected ';' before 'x'", "fine"};
  const auto report = scan_for_lost_lines(lines, "error ×1: expected ';' before 'x': a.c:4:2\n");
  EXPECT_EQ(report.hits, 1U);
  EXPECT_EQ(report.missed, 0U);
}

TEST(Canary, LostLineIsNamed) {
  const std::vector<std::string_view> lines = {"ok", "ERROR worker 3: connection refused db:5432"};
  const auto report = scan_for_lost_lines(lines, "2 passed\n");
  EXPECT_EQ(report.missing, (std::vector<std::size_t>{1}));
  EXPECT_FALSE(report.is_bad());
}

TEST(Canary, ParserThatLosesManyIsBad) {
  const std::vector<std::string_view> lines = {"error: something new", "error: another thing",
                                               "error: third of them", "error: fourth matter"};
  EXPECT_TRUE(scan_for_lost_lines(lines, "all good\n").is_bad());
}

TEST(Canary, LinesThatDifferInNumbersCountOnce) {
  const std::vector<std::string_view> lines = {"error: job 1 broken", "error: job 2 broken",
                                               "error: job 3 broken", "error: job 4 broken"};
  const auto report = scan_for_lost_lines(lines, "all good\n");
  EXPECT_EQ(report.missed, 1U);
  EXPECT_FALSE(report.is_bad());
}

}  // namespace
}  // namespace nutshell::compaction
