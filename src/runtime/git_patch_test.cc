#include "runtime/git_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

using Kind = PatchSide::Kind;
using testing::HasSubstr;

TEST(GitBlobName, IsWhatGitCallsIt) {
  EXPECT_EQ(git_blob_name(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(git_blob_name("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(git_blob_name(std::string(1000, 'x')), git_blob_name(std::string(1000, 'x')));
}

TEST(GitPatch, IsEmptyWhereNothingIsDifferent) {
  EXPECT_EQ(git_patch("a", {Kind::File, "x"}, {Kind::File, "x"}, BinaryForm::Literal), "");
}

TEST(GitPatch, QuotesNamesThatAreNoText) {
  const std::string patch = git_patch("a\n\"b\xff", {}, {Kind::File, "x\n"}, BinaryForm::Literal);
  EXPECT_THAT(patch, HasSubstr("diff --git \"a/a\\012\\\"b\\377\" \"b/a\\012\\\"b\\377\"\n"));
}

TEST(GitPatch, NamesBinaryFilesForPeople) {
  const std::string patch =
      git_patch("a", {}, {Kind::File, std::string("\0x", 2)}, BinaryForm::Named);
  EXPECT_THAT(patch, HasSubstr("Binary file a is different (2 bytes, was 0)"));
}

// Applies a patch with the real git in a temporary directory.
class AppliedPatch : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "git is missing";
  }
  std::string apply(const PatchSide& before, const PatchSide& after) {
    const std::filesystem::path file = directory_ / "f";
    if (before.kind != Kind::Nothing) {
      EXPECT_TRUE(write_file(file, before.content, 0644));
    }
    EXPECT_TRUE(write_file(directory_ / "p", git_patch("f", before, after, BinaryForm::Literal)));
    const std::string command = "cd " + directory_.path().native() + " && git apply p 2>git-error";
    if (std::system(command.c_str()) != 0) {
      return "git: " + read_file(directory_ / "git-error").value_or("?");
    }
    const auto content = read_file(file, 16U << 20U);
    return content ? *content : "gone";
  }
  ScratchDirectory directory_;
};

TEST_F(AppliedPatch, MakesATextFile) {
  EXPECT_EQ(apply({}, {Kind::File, "one\ntwo"}), "one\ntwo");
}

TEST_F(AppliedPatch, ChangesATextFile) {
  EXPECT_EQ(apply({Kind::File, "one\ntwo\n"}, {Kind::File, "one\n2\n"}), "one\n2\n");
}

TEST_F(AppliedPatch, MakesAnEmptyFile) {
  EXPECT_EQ(apply({}, {Kind::File, ""}), "");
}

TEST_F(AppliedPatch, RemovesAFile) {
  EXPECT_EQ(apply({Kind::File, "one\n"}, {}), "gone");
}

TEST_F(AppliedPatch, ChangesABinaryFileOfManyBlocks) {
  std::string large(200'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<char>(i * 7919 >> 3U);
  EXPECT_EQ(apply({Kind::File, std::string("\0\1", 2)}, {Kind::File, large}), large);
}

TEST_F(AppliedPatch, RemovesABinaryFile) {
  EXPECT_EQ(apply({Kind::File, std::string("\0\1", 2)}, {}), "gone");
}

}  // namespace
}  // namespace nutshell
