#include "backends/native/files/special_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::native {
namespace {

class SpecialFilesTest : public testing::Test {
 protected:
  void make_fifo(const std::string& name) {
    ASSERT_EQ(::mkfifo((scratch_ / name).c_str(), 0600), 0);
  }
  [[nodiscard]] std::vector<std::string> named() const {
    auto names = find_special_files(scratch_.path()).named;
    std::sort(names.begin(), names.end());
    return names;
  }

  ScratchDirectory scratch_;
};

TEST_F(SpecialFilesTest, AreFoundAtEveryDepth) {
  std::filesystem::create_directories(scratch_ / "deep/er");
  ASSERT_TRUE(write_file(scratch_ / "deep/file", "text"));
  make_fifo("fifo");
  make_fifo("deep/er/fifo");
  EXPECT_EQ(named(), (std::vector<std::string>{"deep/er/fifo", "fifo"}));
}

TEST_F(SpecialFilesTest, BehindALinkAreNotFound) {
  std::filesystem::create_directories(scratch_ / "real");
  make_fifo("real/fifo");
  std::filesystem::create_directory_symlink(scratch_ / "real", scratch_ / "link");
  EXPECT_EQ(named(), (std::vector<std::string>{"real/fifo"}));
}

TEST_F(SpecialFilesTest, NearTheTopAreFoundInAHugeDirectoryAndTheWalkEnds) {
  std::filesystem::create_directories(scratch_ / "a/b/c");
  make_fifo("a/fifo");
  for (std::size_t i = 0; i < kMostEntriesLookedAt; ++i)
    ASSERT_TRUE(write_file(scratch_ / "a/b" / std::to_string(i), ""));
  make_fifo("a/b/c/fifo");
  EXPECT_EQ(named(), (std::vector<std::string>{"a/fifo"}));
}

TEST_F(SpecialFilesTest, AreNotFoundInAMissingDirectory) {
  EXPECT_EQ(find_special_files(scratch_ / "missing").count, 0U);
}

}  // namespace
}  // namespace nutshell::native
