#include "runtime/apply_target.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

class ApplyTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(root_ = directory_ / "root");
    fs::create_directory(outside_ = directory_ / "outside");
  }
  ApplyTarget open() {
    auto target = ApplyTarget::open(root_);
    EXPECT_TRUE(target) << target.error().message;
    return std::move(*target);
  }
  static Result<> put_file(ApplyTarget& target, const std::string& path, const std::string& text) {
    const UniqueFd file = TRY(target.new_file());
    TRY(write_all(file.get(), text));
    return target.put(path);
  }
  ScratchDirectory directory_;
  fs::path root_;
  fs::path outside_;
};

TEST_F(ApplyTargetTest, ReplacesAFileAtOnce) {
  ASSERT_TRUE(write_file(root_ / "f", "old"));
  {
    ApplyTarget target = open();
    ASSERT_TRUE(target.stage());
    ASSERT_TRUE(put_file(target, "f", "new"));
  }
  EXPECT_EQ(*read_file(root_ / "f"), "new");
  EXPECT_FALSE(fs::exists(root_ / ".nutshell-apply"));
}

TEST_F(ApplyTargetTest, FollowsNoLinkOutOfTheDirectory) {
  fs::create_directory_symlink(outside_, root_ / "way");
  ApplyTarget target = open();
  ASSERT_TRUE(target.stage());
  EXPECT_FALSE(put_file(target, "way/f", "new"));
  EXPECT_FALSE(target.remove("way/f"));
  EXPECT_TRUE(fs::is_empty(outside_));
}

TEST_F(ApplyTargetTest, ReplacesALinkAndNotWhatItLeadsTo) {
  ASSERT_TRUE(write_file(outside_ / "f", "safe"));
  fs::create_symlink(outside_ / "f", root_ / "f");
  ApplyTarget target = open();
  ASSERT_TRUE(target.stage());
  ASSERT_TRUE(put_file(target, "f", "new"));
  EXPECT_EQ(*read_file(outside_ / "f"), "safe");
  EXPECT_FALSE(fs::is_symlink(root_ / "f"));
}

TEST_F(ApplyTargetTest, TurnsAFileIntoADirectoryAndBack) {
  ASSERT_TRUE(write_file(root_ / "f", "old"));
  ApplyTarget target = open();
  ASSERT_TRUE(target.stage());
  ASSERT_TRUE(target.new_directory());
  ASSERT_TRUE(target.put("f"));
  EXPECT_TRUE(fs::is_directory(root_ / "f"));
  ASSERT_TRUE(put_file(target, "f", "new"));
  EXPECT_EQ(*read_file(root_ / "f"), "new");
}

TEST_F(ApplyTargetTest, KeepsADirectoryThatHasFilesOfTheUsers) {
  fs::create_directory(root_ / "d");
  ASSERT_TRUE(write_file(root_ / "d" / "mine", "mine"));
  ApplyTarget target = open();
  ASSERT_TRUE(target.stage());
  EXPECT_FALSE(put_file(target, "d", "new"));
  EXPECT_FALSE(target.remove("d"));
  EXPECT_EQ(*read_file(root_ / "d" / "mine"), "mine");
}

TEST_F(ApplyTargetTest, SweepsWhatAKilledOneLeft) {
  fs::create_directory(root_ / ".nutshell-apply");
  ASSERT_TRUE(write_file(root_ / ".nutshell-apply" / "new", "half"));
  ApplyTarget target = open();
  EXPECT_FALSE(fs::exists(root_ / ".nutshell-apply"));
  EXPECT_TRUE(target.stage());
}

TEST_F(ApplyTargetTest, IsForOneAtATime) {
  const ApplyTarget first = open();
  EXPECT_FALSE(ApplyTarget::open(root_));
}

}  // namespace
}  // namespace nutshell
