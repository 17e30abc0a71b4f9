#include "init/files/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;

class RemoveTree : public testing::Test {
 protected:
  RemoveTree() : directory_(::open(scratch_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    fs::create_directories(scratch_ / "tree/deep/er");
    EXPECT_TRUE(write_file(scratch_ / "tree/deep/er/file", "x"));
  }

  ScratchDirectory scratch_;
  UniqueFd directory_;
};

TEST_F(RemoveTree, TakesAllOfIt) {
  ASSERT_TRUE(remove_tree(directory_.get(), "tree"));
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

TEST_F(RemoveTree, LinkIsRemovedAndNotWhatItLeadsTo) {
  fs::create_directory_symlink(scratch_ / "tree", scratch_ / "link");
  ASSERT_TRUE(remove_tree(directory_.get(), "link"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(scratch_ / "link")));
  EXPECT_TRUE(fs::exists(scratch_ / "tree/deep/er/file"));
}

TEST_F(RemoveTree, ClosedDirectoriesAreOpenedUpWhereThatIsAskedFor) {
  for (const char* closed : {"tree/deep/er", "tree/deep", "tree"})
    ASSERT_EQ(::chmod((scratch_ / closed).c_str(), 0555), 0);
  ASSERT_TRUE(remove_tree(directory_.get(), "tree", ClosedDirectories::OpenedUp));
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

TEST_F(RemoveTree, MountIsNotEntered) {
  const UniqueFd top(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(is_mount_in(top.get(), "proc"));
  EXPECT_FALSE(is_mount_in(directory_.get(), "tree"));
  EXPECT_FALSE(is_mount_in(directory_.get(), "none"));
  const auto refused = remove_tree(top.get(), "proc");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
}

}  // namespace
}  // namespace nutshell::init
