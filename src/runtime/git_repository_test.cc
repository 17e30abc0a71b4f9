#include "runtime/git_repository.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

class GitRepositoryTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"objects", "refs", "worktrees/tree"})
      fs::create_directories(git_ / name);
    fs::create_directories(tree_);
    write(git_ / "HEAD", "ref: refs/heads/main\n");
    write(git_ / "worktrees/tree/HEAD", "ref: refs/heads/other\n");
    write(git_ / "worktrees/tree/commondir", "../..\n");
    write(git_ / "worktrees/tree/gitdir", (tree_ / ".git").native() + "\n");
    write(tree_ / ".git", "gitdir: " + (git_ / "worktrees/tree").native() + "\n");
  }
  static void write(const fs::path& path, const std::string& text) {
    ASSERT_TRUE(write_file(path, text)) << path;
  }

  ScratchDirectory scratch_;
  fs::path top_ = fs::canonical(scratch_.path());
  fs::path git_ = top_ / "main/.git";
  fs::path tree_ = top_ / "tree";
};

TEST_F(GitRepositoryTest, IsFoundForAWorktree) {
  EXPECT_EQ(repository_of_worktree(tree_), git_);
  // From /workspace, a relative path leads elsewhere.
  write(tree_ / ".git", "gitdir: ../main/.git/worktrees/tree\n");
  EXPECT_EQ(repository_of_worktree(tree_), std::nullopt);
}

TEST_F(GitRepositoryTest, HasAnIndexForEachWorkTree) {
  EXPECT_EQ(index_of(tree_), git_ / "worktrees/tree/index");
  EXPECT_EQ(index_of(top_ / "main"), git_ / "index");
  EXPECT_EQ(index_of(top_ / "none"), top_ / "none/.git/index");
}

TEST_F(GitRepositoryTest, MustNameTheWorkspace) {
  fs::create_directories(top_ / "other");
  write(top_ / "other/.git", "gitdir: " + (git_ / "worktrees/tree").native() + "\n");
  EXPECT_EQ(repository_of_worktree(top_ / "other"), std::nullopt);
}

TEST_F(GitRepositoryTest, IsNoDirectoryThatAFileFromAnywhereNames) {
  const fs::path keys = top_ / ".ssh";
  fs::create_directories(keys);
  write(keys / "id_rsa", "secret");
  for (const std::string& text : {"gitdir: " + keys.native() + "\n", std::string("gitdir: /\n"),
                                  std::string("gitdir: \n"), std::string("nothing")}) {
    write(tree_ / ".git", text);
    EXPECT_EQ(repository_of_worktree(tree_), std::nullopt) << text;
  }
  write(tree_ / ".git", "gitdir: " + keys.native());
  write(keys / "commondir", ".");  // not even with the other files, if it is no worktree's place
  write(keys / "gitdir", (tree_ / ".git").native());
  EXPECT_EQ(repository_of_worktree(tree_), std::nullopt);
  fs::remove(tree_ / ".git");
  fs::create_symlink(git_ / "worktrees/tree", tree_ / ".git");
  EXPECT_EQ(repository_of_worktree(tree_), std::nullopt);
}

}  // namespace
}  // namespace nutshell
