#include "base/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

// "outside" lies beside the directory that nothing may leave.
class Beneath : public testing::Test {
 protected:
  Beneath() {
    std::filesystem::create_directories(scratch_ / "inside/deep");
    EXPECT_TRUE(write_file(scratch_ / "secret", "outside"));
    EXPECT_TRUE(write_file(scratch_ / "inside/secret", "inside"));
    EXPECT_TRUE(write_file(scratch_ / "inside/deep/file", "deep"));
    directory_ = std::move(*open_file(scratch_ / "inside", O_PATH | O_DIRECTORY));
  }
  void link(const std::string& target, const std::string& name) {
    ASSERT_EQ(::symlinkat(target.c_str(), directory_.get(), name.c_str()), 0);
  }
  Result<std::string> read(const std::string& path, Links links) {
    const UniqueFd fd = TRY(open_beneath(directory_.get(), path, O_RDONLY, 0, links));
    return read_all(fd.get(), 100);
  }
  std::string text(const std::string& path, Links links) {
    return read(path, links).value_or("(refused)");
  }

  ScratchDirectory scratch_;
  UniqueFd directory_;
};

TEST_F(Beneath, OpensWhatLiesInside) {
  EXPECT_EQ(text("deep/file", Links::Refuse), "deep");
  EXPECT_EQ(text("deep/../secret", Links::Refuse), "inside");
}

TEST_F(Beneath, DotsDoNotLeadOut) {
  EXPECT_EQ(text("../secret", Links::Refuse), "(refused)");
  EXPECT_EQ(text("deep/../../secret", Links::Refuse), "(refused)");
  EXPECT_EQ(text("../secret", Links::Confine), "inside");  // the directory is its own parent
}

TEST_F(Beneath, AbsolutePathsDoNotLeadOut) {
  EXPECT_EQ(text((scratch_ / "secret").native(), Links::Refuse), "(refused)");
  EXPECT_EQ(text("/secret", Links::Confine), "inside");
}

TEST_F(Beneath, LinksAreRefusedOrConfined) {
  link("deep", "near");
  link("../secret", "up");
  link((scratch_ / "secret").native(), "absolute");
  EXPECT_EQ(text("near/file", Links::Refuse), "(refused)");
  EXPECT_EQ(text("near/file", Links::Confine), "deep");
  EXPECT_EQ(text("up", Links::Refuse), "(refused)");
  EXPECT_EQ(text("up", Links::Confine), "inside");
  EXPECT_EQ(text("absolute", Links::Confine), "(refused)");
  EXPECT_EQ(text("absolute", Links::Follow), "outside");
}

TEST_F(Beneath, MagicLinksAreAlwaysRefused) {
  const UniqueFd held = std::move(*open_file(scratch_ / "secret", O_RDONLY));
  const std::string magic = "/proc/self/fd/" + std::to_string(held.get());
  link(magic, "magic");
  for (const Links links : {Links::Refuse, Links::Confine, Links::Follow}) {
    EXPECT_EQ(text("magic", links), "(refused)");
    EXPECT_EQ(text(magic, links), "(refused)");
  }
}

TEST_F(Beneath, EndlessLinksAreAnError) {
  link("loop", "loop");
  EXPECT_FALSE(read("loop", Links::Confine));
}

TEST_F(Beneath, MakesFilesWithTheModeAskedFor) {
  const auto made =
      open_beneath(directory_.get(), "new", O_WRONLY | O_CREAT | O_EXCL, 0600, Links::Refuse);
  ASSERT_TRUE(made) << made.error().message;
  struct stat status {};
  ASSERT_EQ(::fstat(made->get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_NE(::fcntl(made->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(PlainName, HasNoWayToLeadAnywhere) {
  EXPECT_TRUE(is_plain_name("a"));
  EXPECT_TRUE(is_plain_name("..."));
  for (const std::string_view name : {"", ".", "..", "a/b", "/"}) {
    EXPECT_FALSE(is_plain_name(name)) << name;
  }
  EXPECT_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace nutshell
