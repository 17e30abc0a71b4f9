#include "runtime/workspace_changes.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileKind;

FileChange added(std::string path, FileKind kind = FileKind::Regular) {
  FileChange change;
  change.path = std::move(path);
  change.before.kind = kNoFile;
  change.after.kind = kind;
  return change;
}

TEST(WorkspaceChange, MayOnlyNameWhatIsInTheWorkspace) {
  EXPECT_TRUE(check_change(added("a/b")));
  for (const std::string path : {"", "/a", "../a", "a/../b", "a//b", "a/", ".", "./a"}) {
    EXPECT_FALSE(check_change(added(path))) << path;
  }
  EXPECT_FALSE(check_change(added(std::string("a\0b", 3))));
  EXPECT_FALSE(check_change(added(std::string(300, 'x'))));
}

TEST(WorkspaceChange, IsBoundedInDepth) {
  std::string deep = "a";
  for (int i = 0; i < 300; ++i)
    deep += "/a";
  EXPECT_FALSE(check_change(added(deep)));
}

TEST(WorkspaceChange, MustBeAChangeOfSomethingKnown) {
  EXPECT_FALSE(check_change(added("a", kNoFile)));
  EXPECT_FALSE(check_change(added("a", FileKind{9})));
}

TEST(WorkspaceChange, HasALinkThatLeadsSomewhere) {
  FileChange change = added("a", FileKind::Link);
  EXPECT_FALSE(check_change(change));
  change.after.target = "b";
  EXPECT_TRUE(check_change(change));
  change.after.target = std::string("b\0c", 3);
  EXPECT_FALSE(check_change(change));
}

TEST(SelectedChanges, AreThoseAtOrBelowThePaths) {
  const std::vector<FileChange> all = {added("a"), added("ab"), added("a/b"), added("c")};
  const auto selected = select_changes(all, {"/workspace/a/"});
  ASSERT_TRUE(selected);
  ASSERT_EQ(selected->size(), 2U);
  EXPECT_EQ((*selected)[1].path, "a/b");
  EXPECT_FALSE(select_changes(all, {"b"}));
  EXPECT_EQ(select_changes(all, {})->size(), 4U);
}

}  // namespace
}  // namespace nutshell
