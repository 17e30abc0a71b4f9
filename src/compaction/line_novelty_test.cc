#include "compaction/line_novelty.h"

#include <gtest/gtest.h>

#include <string_view>

namespace nutshell::compaction {
namespace {

TEST(LineNovelty, LineOfKnownWordsIsNotNew) {
  const std::vector<std::string_view> lines = {"#0 wait at pool.c:7", "#1 main at main.c:30",
                                               "#0 wait at pool.c:9", "#1 work at main.c:31"};
  EXPECT_EQ(find_novel(lines), (std::vector<bool>{true, true, false, true}));
}

TEST(LineNovelty, AddressesSayNothingAndNumbersDo) {
  const std::vector<std::string_view> lines = {"step (value=100)", "0x7f12 step (value=100)",
                                               "0x7f13 step (value=101)"};
  EXPECT_EQ(find_novel(lines), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace nutshell::compaction
