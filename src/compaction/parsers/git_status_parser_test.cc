#include "compaction/parsers/git_status_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(GitStatusParser, EveryPathStaysAndAdviceGoes) {
  const GivenOutput given("git status", 0, R"(On branch main
Your branch is ahead of 'origin/main' by 2 commits.
  (use "git push" to publish your local commits)

Changes to be committed:
  (use "git restore --staged <file>..." to unstage)
	renamed:    a.h -> b.h
	deleted:    old name.txt

Changes not staged for commit:
  (use "git add <file>..." to update what will be committed)
	modified:   src/a.cc
	modified:   src/b.cc
	modified:   src/c.cc

Untracked files:
  (use "git add <file>..." to include in what will be committed)
	notes.txt

no changes added to commit (use "git add" and/or "git commit -a")
)");
  ASSERT_TRUE(given.is_recognised_by(git_status_parser()));
  const auto facts = given.parsed_by(git_status_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept,
            (std::vector<std::string>{"main, ahead of origin/main by 2",
                                      "staged renamed: a.h -> b.h", "staged deleted: old name.txt",
                                      "modified: src/: a.cc b.cc c.cc", "untracked: notes.txt"}));
  EXPECT_EQ(facts->omitted[0].lines, 5U);
}

TEST(GitStatusParser, DetachedHeadAndConflictsAreTold) {
  const GivenOutput given("git status", 0, R"(HEAD detached at 4a5b6c7
You have unmerged paths.
  (fix conflicts and run "git commit")

Unmerged paths:
	both modified:   src/a.cc
)");
  const auto facts = given.parsed_by(git_status_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept[0], "HEAD detached at 4a5b6c7");
  EXPECT_EQ(facts->kept[1], "You have unmerged paths.");
  EXPECT_EQ(facts->kept.back(), "unmerged both modified: src/a.cc");
}

}  // namespace
}  // namespace nutshell::compaction
