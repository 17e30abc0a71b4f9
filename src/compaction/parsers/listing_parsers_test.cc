// ls, find, grep and tree: what was asked for is all there.
#include <gtest/gtest.h>

#include "compaction/parsers/find_parser.h"
#include "compaction/parsers/given_output.h"
#include "compaction/parsers/grep_parser.h"
#include "compaction/parsers/ls_parser.h"
#include "compaction/parsers/tree_parser.h"

namespace nutshell::compaction {
namespace {

using Texts = std::vector<std::string>;

Texts kept_by(const Parser& parser, std::string_view command, const std::string& output) {
  const GivenOutput given(command, 0, output);
  if (!given.is_recognised_by(parser)) return {"not recognised"};
  const auto facts = given.parsed_by(parser);
  return facts ? facts->kept : Texts{"refused"};
}

TEST(LsParser, NamesAndSizesStay) {
  EXPECT_EQ(kept_by(ls_parser(), "ls -la", R"(total 48
drwxr-xr-x  7 ann staff  4096 Nov 15 18:13 .
drwxr-xr-x 11 ann staff  4096 Nov 15 17:46 ..
-rw-r--r--  1 ann staff  2489 Nov 15 18:13 a b.txt
drwxr-xr-x  2 ann staff  4096 Nov 15 17:54 docs
drwxr-xr-x  2 ann staff  4096 2026-01-02 17:54 src
-rwxr-xr-x  1 ann staff 18920 Nov 14  2025 run.sh
lrwxrwxrwx  1 ann staff    12 Nov 14 09:01 latest -> build/debug
)"),
            (Texts{"a b.txt 2489", "docs/ src/", "run.sh* 18920", "latest -> build/debug"}));
}

TEST(FindParser, PathsAreGroupedByDirectory) {
  EXPECT_EQ(kept_by(find_parser(), "find . -type f", R"(./src/a.cc
./src/b.cc
./src/c.cc
./src/README
./src/LICENSE
./top.md
./with space.md
./docs/one.md
./docs/two.md
./docs/three.md
./docs/x/y.md
)"),
            (Texts{"with space.md", "src/{a,b,c}.cc", "src/: README LICENSE", "top.md",
                   "docs/{one,two,three}.md", "docs/x/y.md"}));
}

TEST(FindParser, MessagesStayLines) {
  const GivenOutput given("find /", 1,
                          "/a/b\n/a/c\n/a/d\n/a/e\n/a/f\n/a/g\n/a/h\n/a/i\n/a/j\n"
                          "find: '/root': Permission denied\n");
  const auto facts = given.parsed_by(find_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept.front(), "find: '/root': Permission denied");
  EXPECT_EQ(total_of(*facts, "paths"), 9U);
}

TEST(GrepParser, MatchesStandBelowTheirFile) {
  EXPECT_EQ(kept_by(grep_parser(), "grep -rn x .", R"(./a.cc:3:  x = 1;
./a.cc:9:  x: 2
./b.cc:1:x
./a.cc:12:x
)"),
            (Texts{"a.cc", " 3:  x = 1;", " 9:  x: 2", " 12:x", "b.cc:1:x"}));
}

TEST(GrepParser, OutputWithoutNumbersIsNotTaken) {
  EXPECT_EQ(kept_by(grep_parser(), "grep -r x .", "a.cc:x\na.cc:x\nb.cc:x\nb.cc:x\n"),
            (Texts{"not recognised"}));
}

TEST(TreeParser, BlanksStandForBranches) {
  EXPECT_EQ(kept_by(tree_parser(), "tree", R"(.
├── a
│   ├── b.c
│   └── c.c
└── d
    └── e.c

3 directories, 3 files
)"),
            (Texts{".", " a", "  b.c", "  c.c", " d", "  e.c", "3 directories, 3 files"}));
}

}  // namespace
}  // namespace nutshell::compaction
