#include "init/search/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace nutshell::init::search {
namespace {

using testing::UnorderedElementsAre;

struct GlobCase {
  const char* pattern;
  const char* text;
  bool matches;
};

class SearchGlobCases : public testing::TestWithParam<GlobCase> {};

TEST_P(SearchGlobCases, MatchesTheTable) {
  const auto glob = Glob::parse(GetParam().pattern);
  ASSERT_TRUE(glob) << glob.error().message;
  EXPECT_EQ(glob->matches(GetParam().text), GetParam().matches)
      << GetParam().pattern << " on " << GetParam().text;
}

constexpr std::array kGlobCases = {
    GlobCase{"a.c", "a.c", true},
    GlobCase{"a.c", "b/a.c", false},
    GlobCase{"*.c", "a.c", true},
    GlobCase{"*.c", ".c", true},
    GlobCase{"*.c", "b/a.c", false},
    GlobCase{"*.c", "a.cc", false},
    GlobCase{"", "", true},
    GlobCase{"", "a", false},
    GlobCase{"?.c", "a.c", true},
    GlobCase{"?.c", "/.c", false},
    GlobCase{"?", "", false},
    GlobCase{"a*b*c", "axxbyyc", true},
    GlobCase{"a*b*c", "axxbyy", false},
    GlobCase{"a*b*c", "ab/bc", false},
    GlobCase{"*a*b", "aaab", true},
    GlobCase{"src/*.c", "src/a.c", true},
    GlobCase{"src/*.c", "src/x/a.c", false},
    GlobCase{"src/*/a.c", "src/x/a.c", true},
    GlobCase{"src/*/a.c", "src/x/y/a.c", false},
    GlobCase{"**/a.c", "a.c", true},
    GlobCase{"**/a.c", "x/y/a.c", true},
    GlobCase{"**/a.c", "x/ya.c", false},
    GlobCase{"src/**/a.c", "src/a.c", true},
    GlobCase{"src/**/a.c", "src/x/y/a.c", true},
    GlobCase{"src/**/a.c", "srca.c", false},
    GlobCase{"src/**", "src/a/b", true},
    GlobCase{"src/**", "src", false},
    GlobCase{"src/**", "src/", false},
    GlobCase{"**", "a/b/c", true},
    GlobCase{"a**b", "axxb", true},
    GlobCase{"a**b", "a/b", false},
    GlobCase{"**/x/**/*.c", "a/x/b/c.c", true},
    GlobCase{"**/x/**/*.c", "x/c.c", true},
    GlobCase{"**/x/**/*.c", "x.c", false},
    GlobCase{"**/*a/b*", "xa/xa/bc", true},
    GlobCase{"**/*a/b*", "xa/xa/cb", false},
    GlobCase{"**/a/*b/**/c", "a/xb/a/xb/y/c", true},
    GlobCase{"[a-c]x", "bx", true},
    GlobCase{"[a-c]x", "dx", false},
    GlobCase{"[!a-c]x", "dx", true},
    GlobCase{"[^a-c]x", "ax", false},
    GlobCase{"[]]", "]", true},
    GlobCase{"[!]]", "]", false},
    GlobCase{"[a-]", "-", true},
    GlobCase{"[\\]]", "]", true},
    GlobCase{"[!a]b", "/b", false},
    GlobCase{"[[:digit:]]x", "7x", true},
    GlobCase{"[[:digit:]]x", "ax", false},
    GlobCase{"[[:upper:]a]", "a", true},
    GlobCase{"\\*", "*", true},
    GlobCase{"\\*", "a", false},
    GlobCase{"a\\?", "a?", true},
    GlobCase{"{a,b}", "{a,b}", true},
    GlobCase{"*.\xC3\xA9", "x.\xC3\xA9", true},
};
INSTANTIATE_TEST_SUITE_P(Table, SearchGlobCases, testing::ValuesIn(kGlobCases));

TEST(SearchGlob, RefusesWhatHasNoEnd) {
  for (const char* pattern : {"[", "[a", "[!", "[]", "a\\", "[a-"}) {
    EXPECT_FALSE(Glob::parse(pattern)) << pattern;
  }
  EXPECT_FALSE(Glob::parse(std::string(5000, 'a')));
}

TEST(SearchGlob, TakesLittleTimeForPatternsThatExplodeElsewhere) {
  std::string pattern;
  for (int i = 0; i < 60; ++i)
    pattern += "**/*a*";
  const auto glob = Glob::parse(pattern + "b");
  ASSERT_TRUE(glob) << glob.error().message;
  std::string path;
  for (int i = 0; i < 400; ++i)
    path += "aaaaaaa/";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob->matches(path + "c"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(SearchBraces, StandForSeveralPatterns) {
  EXPECT_THAT(*expand_braces("*.{ts,tsx}"), UnorderedElementsAre("*.ts", "*.tsx"));
  EXPECT_THAT(*expand_braces("{a,b{c,d}}{,e}"),
              UnorderedElementsAre("a", "ae", "bc", "bce", "bd", "bde"));
  EXPECT_THAT(*expand_braces("a{b}"), UnorderedElementsAre("ab"));
  EXPECT_THAT(*expand_braces("a"), UnorderedElementsAre("a"));
  EXPECT_THAT(*expand_braces("\\{a,b\\}"), UnorderedElementsAre("\\{a,b\\}"));
  EXPECT_THAT(*expand_braces("[{]a,b}"), UnorderedElementsAre("[{]a,b}"));
  EXPECT_FALSE(expand_braces("{a,b"));
}

TEST(SearchBraces, AreRefusedWhenTheyAreTooMany) {
  std::string bomb;
  for (int i = 0; i < 40; ++i)
    bomb += "{a,b}";
  const auto expanded = expand_braces(bomb);
  ASSERT_FALSE(expanded);
  EXPECT_EQ(expanded.error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(expand_braces(std::string(2000, '{') + std::string(2000, '}') + "{"));
}

TEST(SearchGlobFilter, WithoutASlashIsAboutNames) {
  const auto filter = GlobFilter::parse("*.{c,h}");
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->accepts("x/y/a.c", "a.c"));
  EXPECT_TRUE(filter->accepts("b.h", "b.h"));
  EXPECT_FALSE(filter->accepts("x.c/readme", "readme"));
}

TEST(SearchGlobFilter, WithASlashIsAboutThePath) {
  const auto filter = GlobFilter::parse("./src/**/*.c");
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->accepts("src/y/a.c", "a.c"));
  EXPECT_FALSE(filter->accepts("lib/src/a.c", "a.c"));
  EXPECT_TRUE(GlobFilter::parse("/a.c")->accepts("a.c", "a.c"));
  EXPECT_FALSE(GlobFilter::parse("/a.c")->accepts("x/a.c", "a.c"));
  EXPECT_TRUE(GlobFilter::parse("src/")->accepts("src/y/a.c", "a.c"));
}

TEST(SearchGlobFilter, IsTurnedRoundByAnExclamationMark) {
  const auto filter = GlobFilter::parse("!*.c");
  ASSERT_TRUE(filter);
  EXPECT_FALSE(filter->accepts("x/a.c", "a.c"));
  EXPECT_TRUE(filter->accepts("x/a.h", "a.h"));
  EXPECT_TRUE(GlobFilter::parse("!target/")->prunes("x/target", "target"));
  EXPECT_FALSE(GlobFilter::parse("target/")->prunes("x/target", "target"));
}

TEST(SearchGlobFilter, AcceptsAllWhenEmpty) {
  EXPECT_TRUE(GlobFilter::parse("")->accepts_all());
  EXPECT_FALSE(GlobFilter::parse("[a"));
  EXPECT_FALSE(GlobFilter::parse(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace nutshell::init::search
