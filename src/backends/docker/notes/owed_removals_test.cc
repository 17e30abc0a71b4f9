#include "backends/docker/notes/owed_removals.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/docker/notes/notes_fixture.h"

namespace nutshell::docker {
namespace {

using OwedRemovalsTest = NotesTest;

TEST_F(OwedRemovalsTest, AreOfOneEngineUntilTheyAreForgotten) {
  ASSERT_TRUE(owe_removal("unix:///a", "nutshell-one"));
  ASSERT_TRUE(owe_removal("unix:///b", "nutshell-two"));
  EXPECT_EQ(owed_removals("unix:///a"), std::vector<std::string>{"nutshell-one"});
  EXPECT_EQ(owed_removals("unix:///b"), std::vector<std::string>{"nutshell-two"});
  EXPECT_TRUE(owed_removals("unix:///c").empty());
  forget_removal("nutshell-one");
  EXPECT_TRUE(owed_removals("unix:///a").empty());
}

TEST_F(OwedRemovalsTest, NameNothingThatIsNotOurs) {
  ASSERT_TRUE(owe_removal("unix:///a", "nutshell-one"));
  std::filesystem::copy_file(scratch_ / "nutshell-one.owed", scratch_ / "database.owed");
  std::ofstream(scratch_ / "nutshell-odd.owed") << "no note";
  EXPECT_EQ(owed_removals("unix:///a"), std::vector<std::string>{"nutshell-one"});
}

TEST_F(OwedRemovalsTest, AreSweptOnceTheyAreOldOrCannotBeRead) {
  ASSERT_TRUE(owe_removal("unix:///a", "nutshell-young"));
  std::ofstream(scratch_ / "nutshell-odd.owed") << "no note";
  SweepReport tried;
  sweep_owed_removals(SweepMode::DryRun, tried);
  ASSERT_EQ(tried.removed.size(), 1U);
  EXPECT_NE(tried.removed.front().find("nutshell-odd"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "nutshell-odd.owed"));
  SweepReport report;
  sweep_owed_removals(SweepMode::Remove, report);
  EXPECT_EQ(report.removed, tried.removed);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "nutshell-odd.owed"));
  EXPECT_EQ(owed_removals("unix:///a"), std::vector<std::string>{"nutshell-young"});
}

}  // namespace
}  // namespace nutshell::docker
