#include "base/copy_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

class CopyTree : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "from/deep/er");
    fs::create_directory(root_ / "to");
  }

  Result<> copy() {
    const UniqueFd from = TRY(open_file(root_ / "from", O_RDONLY | O_DIRECTORY));
    const UniqueFd to = TRY(open_file(root_ / "to", O_RDONLY | O_DIRECTORY));
    return copy_tree(from.get(), to.get(), Unreadable::Refused);
  }

  ScratchDirectory root_;
};

TEST_F(CopyTree, KeepsBytesModesTimesAndLinks) {
  const std::string bytes(3U << 20U, 'x');
  ASSERT_TRUE(write_file(root_ / "from/deep/er/file", bytes));
  ASSERT_EQ(::chmod((root_ / "from/deep/er/file").c_str(), 0750), 0);
  fs::create_symlink("../outside", root_ / "from/deep/link");
  fs::last_write_time(root_ / "from/deep/er/file",
                      fs::file_time_type::clock::now() - std::chrono::hours(5));
  ASSERT_EQ(::chmod((root_ / "from/deep/er").c_str(), 0555), 0);
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*read_file(root_ / "to/deep/er/file", 4U << 20U), bytes);
  EXPECT_EQ(fs::read_symlink(root_ / "to/deep/link"), "../outside");
  EXPECT_EQ(fs::last_write_time(root_ / "to/deep/er/file"),
            fs::last_write_time(root_ / "from/deep/er/file"));
  struct stat status {};
  ASSERT_EQ(::stat((root_ / "to/deep/er/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0750U);
  ASSERT_EQ(::stat((root_ / "to/deep/er").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0555U);
  ::chmod((root_ / "from/deep/er").c_str(), 0755);
  ::chmod((root_ / "to/deep/er").c_str(), 0755);
}

TEST_F(CopyTree, LeavesOutWhatIsNoFile) {
  ASSERT_EQ(::mkfifo((root_ / "from/pipe").c_str(), 0600), 0);
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_FALSE(fs::exists(root_ / "to/pipe"));
  EXPECT_TRUE(fs::is_directory(root_ / "to/deep/er"));
}

TEST_F(CopyTree, RefusesATreeThatIsTooDeep) {
  fs::path deep = root_ / "from";
  for (int i = 0; i < 140; ++i)
    deep /= "d";
  fs::create_directories(deep);
  const auto copied = copy();
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::ResourceExhausted);
}

}  // namespace
}  // namespace nutshell
