#include "compaction/status_line.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

using std::chrono::milliseconds;

Captured ended(int exit_code, milliseconds duration) {
  Captured captured;
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = exit_code;
  captured.ending.duration = duration;
  captured.recall_id = "o7f3a";
  return captured;
}

TEST(StatusLine, SaysEndSummaryAndHandle) {
  Facts facts;
  facts.tool = "cargo test";
  facts.totals = {{"failed", 2}, {"passed", 78}};
  EXPECT_EQ(status_line(ended(101, milliseconds(4210)), summary_text(facts)),
            "exit 101, 4.2s. cargo test: 2 failed, 78 passed. recall o7f3a");
}

TEST(StatusLine, ShortTimeIsLeftOut) {
  EXPECT_EQ(status_line(ended(0, milliseconds(12)), ""), "exit 0. recall o7f3a");
  EXPECT_EQ(status_line(ended(0, milliseconds(31200)), "make"), "exit 0, 31s. make. recall o7f3a");
}

TEST(StatusLine, EveryOutcomeIsTold) {
  auto captured = ended(0, milliseconds(0));
  captured.recall_id.clear();
  captured.ending.outcome = Outcome::Signalled;
  captured.ending.signal = 11;
  EXPECT_EQ(status_line(captured, ""), "killed by signal 11");
  captured.ending.outcome = Outcome::TimedOut;
  captured.ending.detail = "wall clock\nmore";
  EXPECT_EQ(status_line(captured, ""), "timed out, killed (wall clock)");
  EXPECT_TRUE(is_failing(captured.ending));
}

TEST(StatusLine, RecallNamesTheLine) {
  EXPECT_EQ(recall_call("o7f3a", 120), "recall o7f3a offset=120");
  EXPECT_EQ(recall_call("o7f3a"), "recall o7f3a");
}

}  // namespace
}  // namespace nutshell::compaction
