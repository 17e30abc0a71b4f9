// Changes of a command, found by copying before and comparing after it.
#include <gmock/gmock.h>

#include "init/files/files_fixture.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CopiedTreeTest : public FilesTest {
 protected:
  wire::ChangeBegun begin() {
    return begin_copied_change(state_, {"bash make"}, state_.roots.paths());
  }
  Attempt<wire::Changed> end(const wire::ChangeBegun& begun) {
    return end_copied_change(state_, {begun.change_id});
  }
};

TEST_F(CopiedTreeTest, CommandIsTakenBackWhole) {
  fs::create_directory(path("gone"));
  make("gone/file", "1");
  make("kept", "2", 0600);
  make("turned", "3");
  const auto begun = begin();
  ASSERT_EQ(begun.way, wire::ChangeWay::Copy) << begun.reason;
  EXPECT_EQ(begun.reason, "");
  fs::remove_all(path("gone"));
  fs::create_symlink("kept", path("gone"));
  make("kept", "changed", 0755);
  fs::remove(path("turned"));
  fs::create_directories(path("turned/deep"));
  make("turned/deep/new", "x");
  const auto changed = end(begun);
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(changed->total_changes, 6U);
  const auto undone = undo(changed->undo_id);
  ASSERT_TRUE(undone) << words(undone);
  EXPECT_EQ(content("gone/file"), "1");
  EXPECT_EQ(content("kept"), "2");
  EXPECT_EQ(mode("kept"), 0600U);
  EXPECT_EQ(content("turned"), "3");
  ASSERT_TRUE(undo(undone->undo_id));
  EXPECT_EQ(content("turned/deep/new"), "x");
  EXPECT_TRUE(fs::is_symlink(path("gone")));
}

TEST_F(CopiedTreeTest, CommandThatChangesNothingHasNoUndo) {
  make("a", "1");
  const auto begun = begin();
  make("a", "1");  // the same bytes again
  const auto changed = end(begun);
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(changed->undo_id, "");
  EXPECT_EQ(changed->total_changes, 0U);
}

TEST_F(CopiedTreeTest, MoreThanTheBudgetIsNotCopied) {
  make("big", "");
  fs::resize_file(path("big"), 65ULL << 20U);
  const auto begun = begin();
  EXPECT_EQ(begun.way, wire::ChangeWay::Nothing);
  EXPECT_EQ(begun.reason, "there are more than 64 MiB");
}

TEST_F(CopiedTreeTest, RunningProcessesAreNamed) {
  state_.running = [] { return std::string("make (pid 12)"); };
  const auto begun = begin();
  EXPECT_EQ(begun.way, wire::ChangeWay::Copy);
  EXPECT_THAT(begun.reason, HasSubstr("make (pid 12)"));
}

TEST_F(CopiedTreeTest, ChangeThatNobodyEndsIsGivenUp) {
  const auto first = begin();
  for (std::size_t i = 0; i < OpenChanges::kMost; ++i)
    (void)begin();
  EXPECT_EQ(end(first).error().code, ErrorCode::Expired);
  EXPECT_EQ(end({}).error().code, ErrorCode::Expired);
}

}  // namespace
}  // namespace nutshell::init
