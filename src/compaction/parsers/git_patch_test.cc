#include "compaction/parsers/git_patch.h"

#include <gtest/gtest.h>

#include "compaction/parsers/git_diff_parser.h"
#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

constexpr const char* kDiff = R"(diff --git a/src/a.cc b/src/a.cc
index 1111111..2222222 100644
--- a/src/a.cc
+++ b/src/a.cc
@@ -10,8 +10,9 @@ int main() {
 one
 two
 three
-old
+new
 four
 five
 six
+last
 seven
diff --git a/x.bin b/x.bin
new file mode 100644
index 0000000..3333333
Binary files /dev/null and b/x.bin differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 4444444..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
)";

using Texts = std::vector<std::string>;

Texts shown(const Facts& facts) {
  Texts lines;
  for (const Section& section : facts.sections) {
    lines.push_back(section.head);
    lines.insert(lines.end(), section.lines.begin(), section.lines.end());
  }
  return lines;
}

TEST(GitPatch, EveryChangedLineStays) {
  const GivenOutput given("git diff", 0, kDiff);
  ASSERT_TRUE(given.is_recognised_by(git_diff_parser()));
  const auto facts = given.parsed_by(git_diff_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(shown(*facts),
            (Texts{"# src/a.cc +2 -1", "@12 int main() {", " three", "-old", "+new", " four", "@16",
                   " six", "+last", " seven",
                   "# x.bin +0 -0 new file mode 100644 Binary files /dev/null and b/x.bin differ",
                   "# gone.txt +0 -1 deleted file mode 100644", "@1", "-bye"}));
  EXPECT_EQ(total_of(*facts, "files"), 3U);
  EXPECT_EQ(total_of(*facts, "added"), 2U);
}

TEST(GitPatch, LineThatLooksLikeAHeadingIsContent) {
  const GivenOutput given(
      "git diff", 0,
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n "
      "same\n");
  const auto facts = given.parsed_by(git_diff_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(shown(*facts), (Texts{"# x +1 -1", "@1", "--- old", "+++ new", " same"}));
}

TEST(GitPatch, BlankLinesStayOnlyBetweenChanges) {
  const GivenOutput given(
      "git diff", 0,
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,9 +3,9 @@ f()\n one\n \n-a\n+A\n "
      "\n two\n-b\n+B\n \n three\n four\n");
  const auto facts = given.parsed_by(git_diff_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(shown(*facts), (Texts{"# x +2 -2", "@5 f()", "-a", "+A", " ", " two", "-b", "+B"}));
  EXPECT_EQ(facts->omitted[0].lines, 8U);
}

TEST(GitPatch, CombinedDiffIsRefused) {
  const GivenOutput given("git diff", 0,
                          "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,2 @@@\n++x\n");
  EXPECT_FALSE(given.parsed_by(git_diff_parser()));
}

TEST(GitPatch, CutOffDiffEndsQuietly) {
  const GivenOutput given("git diff", 0,
                          "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,20 +1,20 @@\n-a\n+b\n");
  const auto facts = given.parsed_by(git_diff_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(shown(*facts).back(), "+b");
}

}  // namespace
}  // namespace nutshell::compaction
