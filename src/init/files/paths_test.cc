#include "init/files/paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;

TEST(OpenRegular, OpensFilesAndFollowsLinks) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch / "file", "text"));
  fs::create_symlink("file", scratch / "link");
  EXPECT_TRUE(open_regular(scratch / "file", O_RDONLY));
  EXPECT_TRUE(open_regular(scratch / "link", O_RDONLY));
}

TEST(OpenRegular, RefusesAtOnceWhatCouldBlockOrNeverEnd) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(open_regular(scratch / "fifo", O_RDONLY));
  EXPECT_FALSE(open_regular(scratch / "fifo", O_WRONLY));
  EXPECT_FALSE(open_regular("/dev/zero", O_RDONLY));
  EXPECT_FALSE(open_regular(scratch.path(), O_RDONLY));
}

TEST(OpenRegular, RefusesProcAndWhatLeadsThere) {
  const ScratchDirectory scratch;
  fs::create_symlink("/proc/self/environ", scratch / "link");
  EXPECT_FALSE(open_regular("/proc/self/environ", O_RDONLY));
  EXPECT_FALSE(open_regular(scratch / "link", O_RDONLY));
  EXPECT_FALSE(open_regular("/proc/self/mem", O_RDONLY));
}

TEST(OpenRegular, RefusesDescriptorsInDisguise) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch / "file", "text"));
  const UniqueFd held = std::move(*open_file(scratch / "file", O_RDONLY));
  EXPECT_FALSE(open_regular("/proc/self/fd/" + std::to_string(held.get()), O_RDONLY));
}

TEST(OpenParent, GivesTheDirectoryAndTheName) {
  const ScratchDirectory scratch;
  const auto found = open_parent(scratch / "new");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->second, "new");
}

TEST(OpenParent, FollowsALinkToWhereItLeads) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "deep");
  fs::create_symlink("deep/real", scratch / "link");
  const auto found = open_parent(scratch / "link");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->second, "real");
  ASSERT_TRUE(write_file(scratch / "deep/real", ""));
  EXPECT_EQ(::faccessat(found->first.get(), "real", F_OK, 0), 0);
}

TEST(OpenParent, RefusesWhatNamesNoFile) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(open_parent(""));
  EXPECT_FALSE(open_parent("/"));
  EXPECT_FALSE(open_parent(scratch / "deep/"));
  EXPECT_FALSE(open_parent(scratch / ".."));
  EXPECT_FALSE(open_parent(scratch / "none/file"));
}

TEST(OpenParent, GivesUpOnACircleOfLinks) {
  const ScratchDirectory scratch;
  fs::create_symlink("b", scratch / "a");
  fs::create_symlink("a", scratch / "b");
  EXPECT_FALSE(open_parent(scratch / "a"));
}

}  // namespace
}  // namespace nutshell::init
