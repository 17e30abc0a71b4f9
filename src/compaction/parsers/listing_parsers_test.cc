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
  if (!facts) return {"refused"};
  auto shown = facts->kept;
  for (const Section& section : facts->sections) {
    shown.push_back(section.head);
    shown.insert(shown.end(), section.lines.begin(), section.lines.end());
  }
  return shown;
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
            (Texts{"with space.md", "top.md", "docs/: one.md two.md three.md", "docs/x/y.md",
                   "src/: a.cc b.cc c.cc README LICENSE"}));
}

TEST(FindParser, SizesOfDuStandBehindTheNames) {
  EXPECT_EQ(
      kept_by(
          find_parser(), "du -ah lib",
          "4.0K\tlib/a.c\n8.0K\tlib/b.c\n4.0K\tlib/net/x.c\n8.0K\tlib/net\n"
          "24K\tlib\n4.0K\twith space.md\ndu: cannot read directory 'lib/y': Permission denied\n"
          "4.0K\tlib/c.c\n4.0K\tlib/d.c\n4.0K\tlib/e.c\n4.0K\tlib/f.c\n4.0K\tlib/g.c\n"
          "4.0K\tlib/h.c\n4.0K\tlib/i.c\n4.0K\tlib/j.c\n4.0K\tlib/k.c\n4.0K\tlib/l.c\n"
          "4.0K\tlib/m.c\n4.0K\tlib/n.c\n4.0K\tlib/o.c\n"),
      (Texts{"du: cannot read directory 'lib/y': Permission denied", "with space.md (4.0K)",
             "lib (24K)",
             "lib/: a.c (4.0K) b.c (8.0K) net (8.0K) c.c (4.0K) d.c (4.0K) e.c (4.0K) "
             "f.c (4.0K) g.c (4.0K) h.c (4.0K) i.c (4.0K) j.c (4.0K) k.c (4.0K) l.c (4.0K) "
             "m.c (4.0K) n.c (4.0K) o.c (4.0K)",
             "lib/net/x.c (4.0K)"}));
}

TEST(FindParser, OtherColumnsOfDuAreRefused) {
  EXPECT_EQ(kept_by(find_parser(), "du -a --time .",
                    "4\t2026-01-02 10:00\t./a\n4\t2026-01-02 10:00\t./b\n"
                    "4\t2026-01-02 10:00\t./c\n12\t2026-01-02 10:00\t.\n"),
            Texts{"not recognised"});
}

TEST(FindParser, EveryLineHasItsWholeDirectory) {
  EXPECT_EQ(kept_by(find_parser(), "find lib -type f", R"(lib/java/a/One.java
lib/java/a/Two.java
lib/java/b/Three.java
lib/java/b/x/Four.java
lib/java/b/x/five.txt
lib/java/c/Six.java
)"),
            (Texts{"lib/java/a/: One.java Two.java", "lib/java/b/Three.java",
                   "lib/java/b/x/: Four.java five.txt", "lib/java/c/Six.java"}));
}

// Signs that mean something in a grouped listing would make one path look like another.
TEST(FindParser, OddNamesStandAlone) {
  EXPECT_EQ(kept_by(find_parser(), "find .", "./a/*.c\n./a/b.c\n./a/{c}.c\n./a/d,e.c\n./a/f.c\n"),
            (Texts{"a/*.c", "a/{c}.c", "a/d,e.c", "a/: b.c f.c"}));
}

TEST(FindParser, DeepDirectoriesStayFlat) {
  std::string path = "a";
  std::string output;
  for (int depth = 0; depth < 300; ++depth) {
    path += "/a";
    output += path + "/x.c\n" + path + "/y.c\n";
  }
  const auto kept = kept_by(find_parser(), "find .", output);
  ASSERT_EQ(kept.size(), 300U);
  EXPECT_EQ(kept.front(), "a/a/: x.c y.c");
  EXPECT_NE(kept[20].front(), ' ');
}

TEST(FindParser, OrderThatWasAskedForIsLeftAlone) {
  const std::string output = "z.c\na.c\nm.h\nb.c\n";
  EXPECT_EQ(kept_by(find_parser(), "ls -1t", output), (Texts{"not recognised"}));
  EXPECT_EQ(kept_by(find_parser(), "ls --sort=size", output), (Texts{"not recognised"}));
  EXPECT_EQ(kept_by(find_parser(), "ls -1", output), (Texts{"z.c a.c m.h b.c"}));
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

TEST(GrepParser, MatchesWithoutNumbersStandBelowTheirFile) {
  EXPECT_EQ(kept_by(grep_parser(), "grep -r use .",
                    "./src/a.c:use x: 1\n./src/a.c:  use y\nb.py:use z\nsrc/net/c.h:12\n"),
            (Texts{"src/a.c", " use x: 1", "   use y", "b.py:use z", "src/net/c.h:12"}));
}

TEST(GrepParser, LinesOfOneFileThatHoldAColonNameNoFile) {
  EXPECT_EQ(kept_by(grep_parser(), "grep -i error notes",
                    "Error: a\nError: b\nhttp://x/error: c\nerror: d\n"),
            Texts{"not recognised"});
}

TEST(GrepParser, MatchesStandBelowTheirFile) {
  EXPECT_EQ(kept_by(grep_parser(), "grep -rn x .", R"(./a.cc:3:  x = 1;
./a.cc:9:  x: 2
./b.cc:1:x
./a.cc:12:x
)"),
            (Texts{"a.cc", " 3:  x = 1;", " 9:  x: 2", " 12:x", "b.cc:1:x"}));
}

TEST(GrepParser, ContextStandsAmongItsMatches) {
  const GivenOutput given("grep -rn -C1 x .", 0, R"(a-1.cc-2-before
a-1.cc:3:x
a-1.cc-4-after
--
b.cc:1:x
b.cc-2-a-1.cc-9-odd
)");
  ASSERT_TRUE(given.is_recognised_by(grep_parser()));
  const auto facts = given.parsed_by(grep_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->sections.size(), 2U);
  EXPECT_EQ(facts->sections[0].head, "a-1.cc");
  EXPECT_EQ(facts->sections[0].lines, (Texts{" 2-before", " 3:x", " 4-after"}));
  EXPECT_EQ(facts->sections[0].brief, (Texts{" 3:x"}));
  EXPECT_EQ(facts->sections[1].lines, (Texts{" 1:x", " 2-a-1.cc-9-odd"}));
  EXPECT_EQ(total_of(*facts, "matches"), 2U);
}

TEST(TreeParser, NamesStandBelowTheirWholeDirectory) {
  EXPECT_EQ(kept_by(tree_parser(), "tree", R"(.
├── a
│   ├── b.c
│   └── c.c
└── d
    └── e.c

3 directories, 3 files
)"),
            (Texts{"a/: b.c c.c", "d/e.c", "3 directories, 3 files"}));
}

TEST(TreeParser, NarrowBranchesOfNpmAreAsDeep) {
  EXPECT_EQ(kept_by(tree_parser(), "npm ls --all", R"(a@1.0.0 /p
├─┬ b@4.1.2
│ ├─┬ c@4.3.0
│ │ └── d@2.0.1 deduped
│ └── e@7.2.0
└── f@4.19.2
)"),
            (Texts{"a@1.0.0 /p", " b@4.1.2", "  c@4.3.0", "   d@2.0.1 deduped", "  e@7.2.0",
                   " f@4.19.2"}));
}

}  // namespace
}  // namespace nutshell::compaction
