#include "base/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/beneath_walk.h"
#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

using Open = Result<UniqueFd> (*)(int, const std::string&, int, unsigned, Links);

// "outside" lies beside the directory that no look-up may leave. openat2 and our own walk must
// answer alike.
class Beneath : public testing::TestWithParam<Open> {
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
    const UniqueFd fd = TRY(GetParam()(directory_.get(), path, O_RDONLY, 0, links));
    return read_all(fd.get(), 100);
  }
  std::string text(const std::string& path, Links links) {
    return read(path, links).value_or("(refused)");
  }

  ScratchDirectory scratch_;
  UniqueFd directory_;
};

TEST_P(Beneath, OpensWhatLiesInside) {
  EXPECT_EQ(text("deep/file", Links::Refuse), "deep");
  EXPECT_EQ(text("deep/../secret", Links::Refuse), "inside");
}

TEST_P(Beneath, DotsDoNotLeadOut) {
  EXPECT_EQ(text("../secret", Links::Refuse), "(refused)");
  EXPECT_EQ(text("deep/../../secret", Links::Refuse), "(refused)");
  EXPECT_EQ(text("../secret", Links::Confine), "inside");  // the directory is its own parent
}

TEST_P(Beneath, AbsolutePathsDoNotLeadOut) {
  EXPECT_EQ(text((scratch_ / "secret").native(), Links::Refuse), "(refused)");
  EXPECT_EQ(text("/secret", Links::Confine), "inside");
}

TEST_P(Beneath, LinksAreRefusedOrConfined) {
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

TEST_P(Beneath, MagicLinksAreAlwaysRefused) {
  const UniqueFd held = std::move(*open_file(scratch_ / "secret", O_RDONLY));
  const std::string magic = "/proc/self/fd/" + std::to_string(held.get());
  link(magic, "magic");
  for (const Links links : {Links::Refuse, Links::Confine, Links::Follow}) {
    EXPECT_EQ(text("magic", links), "(refused)");
    EXPECT_EQ(text(magic, links), "(refused)");
  }
}

TEST_P(Beneath, EndlessLinksAreAnError) {
  link("loop", "loop");
  EXPECT_FALSE(read("loop", Links::Confine));
}

TEST_P(Beneath, MakesFilesWithTheModeAskedFor) {
  const auto made =
      GetParam()(directory_.get(), "new", O_WRONLY | O_CREAT | O_EXCL, 0600, Links::Refuse);
  ASSERT_TRUE(made) << made.error().message;
  struct stat status {};
  ASSERT_EQ(::fstat(made->get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_NE(::fcntl(made->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(Beneath, ErrorsAreTheKernels) {
  link("deep", "near");
  const auto code = [this](const std::string& path, int flags, Links links) {
    auto opened = GetParam()(directory_.get(), path, flags, 0600, links);
    return opened ? std::string() : opened.error().message;
  };
  const auto expect = [&](const char* path, int flags, Links links, const char* words) {
    const std::string message = code(path, flags, links);
    EXPECT_NE(message.find(words), std::string::npos) << path << ": '" << message << "'";
  };
  expect("", O_RDONLY, Links::Confine, "No such file");
  expect("none/file", O_RDONLY, Links::Confine, "No such file");
  expect("secret/file", O_RDONLY, Links::Confine, "Not a directory");
  expect("secret/", O_RDONLY, Links::Confine, "Not a directory");
  expect("near", O_RDONLY | O_NOFOLLOW, Links::Confine, "levels of symbolic links");
  expect("near", O_PATH, Links::Refuse, "levels of symbolic links");
  expect("secret", O_WRONLY | O_CREAT | O_EXCL, Links::Confine, "exists");
  expect("deep", O_WRONLY, Links::Confine, "directory");
  expect(std::string(300, 'a').c_str(), O_RDONLY, Links::Confine, "too long");
}

TEST_P(Beneath, TrailingSlashesAndDotsMeanTheDirectory) {
  link("deep", "near");
  for (const char* path : {"near/", "near/.", "deep//", "./deep/../deep/.", "/", "..", "near/.."}) {
    const auto opened = GetParam()(directory_.get(), path, O_PATH | O_DIRECTORY, 0, Links::Confine);
    EXPECT_TRUE(opened) << path;
  }
  EXPECT_EQ(text("near/../secret", Links::Confine), "inside");
  EXPECT_EQ(text("deep/../../../deep/file", Links::Confine), "deep");
}

TEST_P(Beneath, LinkItselfCanBeHeld) {
  link("secret", "near");
  const auto held = GetParam()(directory_.get(), "near", O_PATH | O_NOFOLLOW, 0, Links::Refuse);
  ASSERT_TRUE(held) << held.error().message;
  struct stat status {};
  ASSERT_EQ(::fstat(held->get(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
}

TEST_P(Beneath, DanglingLinksMakeTheirTargetInside) {
  link("/deep/made", "dangling");
  ASSERT_TRUE(GetParam()(directory_.get(), "dangling", O_WRONLY | O_CREAT, 0600, Links::Confine));
  EXPECT_EQ(text("deep/made", Links::Refuse), "");
}

TEST_P(Beneath, DeepPathsNeedFewDescriptors) {
  std::string path;
  int directory = ::dup(directory_.get());
  for (int i = 0; i < 300; ++i) {
    path += "d/";
    ASSERT_EQ(::mkdirat(directory, "d", 0700), 0);
    const int next = ::openat(directory, "d", O_PATH | O_DIRECTORY);
    ::close(directory);
    directory = next;
  }
  ::close(directory);
  EXPECT_TRUE(GetParam()(directory_.get(), path, O_PATH | O_DIRECTORY, 0, Links::Refuse));
}

// A thread exchanges a directory for a link that leads out, and moves another directory out and in,
// as fast as it can. Files outside are never opened.
TEST_P(Beneath, NeverLeavesThroughADirectoryThatIsSwapped) {
  link((scratch_ / "").native(), "other");
  std::filesystem::create_directories(scratch_ / "inside/mover/low");
  std::atomic<bool> is_over = false;
  std::thread swapper([&] {
    const int inside = directory_.get();
    const std::string out = (scratch_ / "moved").native();
    while (!is_over) {
      ::renameat2(inside, "deep", inside, "other", RENAME_EXCHANGE);
      ::renameat(inside, "mover", AT_FDCWD, out.c_str());
      ::renameat(AT_FDCWD, out.c_str(), inside, "mover");
    }
  });
  std::size_t opened = 0;
  for (int i = 0; i < 20'000; ++i) {
    for (const char* path : {"other/secret", "deep/secret", "mover/low/../../secret"}) {
      for (const Links links : {Links::Refuse, Links::Confine}) {
        const auto found = read(path, links);
        if (found) ++opened;
        ASSERT_NE(found.value_or(""), "outside") << path;
      }
    }
  }
  is_over = true;
  swapper.join();
  EXPECT_GT(opened, 0U);
}

INSTANTIATE_TEST_SUITE_P(BothWays, Beneath, testing::Values(&open_beneath, &walk_beneath),
                         [](const auto& way) { return way.index == 0 ? "Kernel" : "Steps"; });

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
