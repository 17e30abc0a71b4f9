#include "compaction/shown_before.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

Captured printed(std::string command, std::string_view output, std::string id) {
  Captured captured;
  captured.command = std::move(command);
  captured.output = output;
  captured.recall_id = std::move(id);
  captured.ending.outcome = Outcome::Exited;
  return captured;
}

TEST(ShownBefore, SameOutputOfSameCommandIsKnown) {
  ShownBefore shown;
  EXPECT_FALSE(shown.check(printed("ls", "a\n", "o1")));
  EXPECT_EQ(shown.check(printed("ls", "a\n", "o2")), "o1");
  EXPECT_FALSE(shown.check(printed("ls", "b\n", "o3")));
  EXPECT_FALSE(shown.check(printed("ls -a", "a\n", "o4")));
  EXPECT_EQ(unchanged_text(printed("ls", "a\n", "o2"), "o1"),
            "exit 0. unchanged since o1 (recall o1)\n");
}

TEST(ShownBefore, AnotherEndIsAnotherOutput) {
  ShownBefore shown;
  auto captured = printed("make", "x\n", "o1");
  EXPECT_FALSE(shown.check(captured));
  captured.ending.exit_code = 2;
  EXPECT_FALSE(shown.check(captured));
}

TEST(ShownBefore, OldestIsForgotten) {
  ShownBefore shown(2);
  EXPECT_FALSE(shown.check(printed("a", "1", "o1")));
  EXPECT_FALSE(shown.check(printed("b", "1", "o2")));
  EXPECT_FALSE(shown.check(printed("c", "1", "o3")));
  EXPECT_FALSE(shown.check(printed("a", "1", "o4")));
  EXPECT_EQ(shown.check(printed("c", "1", "o5")), "o3");
}

}  // namespace
}  // namespace nutshell::compaction
