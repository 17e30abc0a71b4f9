#include "runtime/git_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> paths_in(const std::string& line) {
  return work_tree_paths_in("[section]\n\t" + line + "\n", "/home/u/project");
}

TEST(GitConfiguration, NamesFilesOfTheWorkTree) {
  EXPECT_THAT(paths_in("hooksPath = hooks"), ElementsAre("hooks"));
  EXPECT_THAT(paths_in("hookspath = \"./my hooks/\""), testing::Contains("my hooks"));
  EXPECT_THAT(paths_in("path = ../.gitconfig"), testing::Contains(".gitconfig"));
  EXPECT_THAT(paths_in("clean = scripts/clean.sh --fast %f"), ElementsAre("scripts/clean.sh"));
  EXPECT_THAT(paths_in("fsmonitor = /home/u/project/bin/watch"), ElementsAre("bin/watch"));
  EXPECT_THAT(paths_in("sync = \"!sh -c 'tools/sync.sh'\""), ElementsAre("tools/sync.sh"));
}

TEST(GitConfiguration, NamesNothingElse) {
  EXPECT_THAT(paths_in("clean = git-lfs clean -- %f"), IsEmpty());
  EXPECT_THAT(paths_in("merge = refs/heads/main"), IsEmpty());
  EXPECT_THAT(paths_in("fetch = +refs/heads/*:refs/remotes/origin/*"), IsEmpty());
  EXPECT_THAT(paths_in("url = https://host/x.git"), IsEmpty());
  EXPECT_THAT(paths_in("hooksPath = /etc/hooks"), IsEmpty());
  EXPECT_THAT(paths_in("path = ../../other"), IsEmpty());
  EXPECT_THAT(paths_in("bare = false"), IsEmpty());
}

}  // namespace
}  // namespace nutshell
