#include "compaction/parsers/git_log_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/git_blame_parser.h"
#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

constexpr const char* kTwo = R"(commit 4a5b6c7d8e9f00112233445566778899aabbccdd (HEAD -> main)
Author: Ann Lee <ann@example.org>
Date:   Fri Jan 2 10:20:30 2026 +0100

    parser: read numbers

    A body line that fails to matter.

commit 1a2b3c4d5e6f00112233445566778899aabbccdd
Author: Ann Lee <ann@example.org>
Date:   Fri Jan 2 09:00:00 2026 +0100

    parser: begin
)";

TEST(GitLogParser, OneLineForEachCommit) {
  const GivenOutput given("git log -2", 0, kTwo);
  ASSERT_TRUE(given.is_recognised_by(git_log_parser()));
  const auto facts = given.parsed_by(git_log_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{
                             "Ann Lee, 2026-01-02:", "4a5b6c7 parser: read numbers (HEAD -> main)",
                             "1a2b3c4 parser: begin"}));
  EXPECT_EQ(facts->omitted[0].lines, 1U);
}

TEST(GitLogParser, BodyOfTheOneCommitStays) {
  const std::string one(std::string_view(kTwo).substr(0, std::string_view(kTwo).find("commit 1a")));
  const auto facts = GivenOutput("git show", 0, one).parsed_by(git_log_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept.back(), "  A body line that fails to matter.");
}

TEST(GitBlameParser, OriginIsSaidOncePerRun) {
  const GivenOutput given("git blame a.c", 0,
                          R"(4a5b6c7d (Ann Lee 2026-01-02 10:20:30 +0100 1) int a;
4a5b6c7d (Ann Lee 2026-01-02 10:20:30 +0100 2)   int b;
^1a2b3c4 (Bo      2025-01-02 10:20:30 +0100 3)
4a5b6c7d (Ann Lee 2026-01-02 10:20:30 +0100 4) int c;
)");
  ASSERT_TRUE(given.is_recognised_by(git_blame_parser()));
  const auto facts = given.parsed_by(git_blame_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"4a5b6c7 Ann Lee 2026-01-02 1:", " int a;",
                                                   "   int b;", "1a2b3c4 Bo 2025-01-02 3:", " ",
                                                   "4a5b6c7 Ann Lee 2026-01-02 4:", " int c;"}));
}

}  // namespace
}  // namespace nutshell::compaction
