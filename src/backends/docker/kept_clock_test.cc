#include "backends/docker/kept_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/docker/kept_environment.h"
#include "backends/docker/spec_labels.h"
#include "base/scratch_fixture.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

class KeptClockTest : public testing::Test {
 protected:
  KeptClockTest() {
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms::owner_all);
    ::setenv("NUTSHELL_RUNTIME_DIR", scratch_.path().c_str(), 1);
  }
  ~KeptClockTest() override { ::unsetenv("NUTSHELL_RUNTIME_DIR"); }
  ScratchDirectory scratch_;
};

TEST_F(KeptClockTest, RunsOrStandsStill) {
  EXPECT_FALSE(kept_clock("a"));
  const auto now = milliseconds_now();
  ASSERT_TRUE(keep_clock("a", {now + 5s, -1ms}));
  EXPECT_FALSE(kept_clock("a")->is_still());
  EXPECT_EQ(kept_clock("a")->left_at(now + 2s), 3s);
  EXPECT_EQ(kept_clock("a")->left_at(now + 9s), 0s);
  ASSERT_TRUE(keep_clock("a", {now + 24h, 0ms}));
  EXPECT_TRUE(kept_clock("a")->is_still());
  EXPECT_EQ(kept_clock("a")->left_at(now + 9s), 0s);
  ASSERT_TRUE(keep_clock("a", {now + 24h, 7s}));
  EXPECT_EQ(kept_clock("a")->left_at(now + 9s), 7s);
  EXPECT_FALSE(kept_clock("a")->is_halted);
  ASSERT_TRUE(keep_clock("a", {now + 24h, 7s, true}));
  EXPECT_TRUE(kept_clock("a")->is_halted && kept_clock("a")->is_still());
  forget_clock("a");
  EXPECT_FALSE(kept_clock("a"));
}

TEST_F(KeptClockTest, IsSweptWithWhatElseWasKeptOfASandboxThatIsOver) {
  const auto now = milliseconds_now();
  for (const char* id : {"over", "lives"})
    ASSERT_TRUE(keep_environment(id, {"engine", {"SECRET=x"}}));
  ASSERT_TRUE(keep_clock("over", {now - 2min, -1ms}));
  ASSERT_TRUE(keep_clock("lives", {now + 1s, -1ms}));
  std::ofstream(scratch_ / "container-odd.clock") << "no clock";
  SweepReport tried;
  sweep_kept(SweepMode::DryRun, tried);
  EXPECT_EQ(tried.removed.size(), 1U);
  EXPECT_TRUE(kept_environment("over"));
  SweepReport report;
  sweep_kept(SweepMode::Remove, report);
  EXPECT_EQ(report.removed, tried.removed);
  EXPECT_FALSE(kept_environment("over"));
  EXPECT_FALSE(kept_clock("over"));
  EXPECT_TRUE(kept_environment("lives"));
  EXPECT_TRUE(kept_clock("lives"));
}

}  // namespace
}  // namespace nutshell::docker
