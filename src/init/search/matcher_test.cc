#include "init/search/matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "init/search/required_literals.h"

namespace nutshell::init::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

wire::Search pattern(const std::string& text) {
  wire::Search request;
  request.pattern = text;
  return request;
}

std::vector<std::string> matching_lines(const wire::Search& request, const std::string& text) {
  const auto matcher = Matcher::compile(request);
  EXPECT_TRUE(matcher) << matcher.error().message;
  std::vector<std::string> lines;
  Matcher::Cursor cursor(**matcher, text);
  while (const auto match = cursor.next(Matcher::Cursor::Places::Wanted))
    lines.push_back(text.substr(match->line_begin, match->line_end - match->line_begin));
  EXPECT_EQ((*matcher)->count(text), lines.size());
  return lines;
}

TEST(SearchMatcher, FindsWholeLines) {
  EXPECT_THAT(matching_lines(pattern("b"), "abc\nxyz\nb b\nb"), ElementsAre("abc", "b b", "b"));
  EXPECT_THAT(matching_lines(pattern("b|y"), "abc\nxyz\nq\n"), ElementsAre("abc", "xyz"));
  EXPECT_THAT(matching_lines(pattern("^b.$"), "bc\nabc\nbd"), ElementsAre("bc", "bd"));
  EXPECT_THAT(matching_lines(pattern("\\Ab|c\\z"), "bc\nabc\nx"), ElementsAre("bc", "abc"));
  EXPECT_THAT(matching_lines(pattern("^$"), "a\n\nb\n"), ElementsAre(""));
  EXPECT_THAT(matching_lines(pattern("x*"), "a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(matching_lines(pattern(""), "a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(matching_lines(pattern("a\\s+b"), "a\nb\na b\n"), ElementsAre("a b"));
  EXPECT_THAT(matching_lines(pattern("[^q]"), "\nq\n"), IsEmpty());
}

TEST(SearchMatcher, TakesALiteralAsItStands) {
  wire::Search request = pattern("a.b(");
  request.is_literal = 1;
  EXPECT_THAT(matching_lines(request, "a.b(\naxb(\nA.B(\n"), ElementsAre("a.b("));
  request.ignores_case = 1;
  EXPECT_THAT(matching_lines(request, "a.b(\naxb(\nA.B(\n"), ElementsAre("a.b(", "A.B("));
}

TEST(SearchMatcher, FoldsCaseAsUnicodeDoes) {
  wire::Search request = pattern("disk\xC3\xA9");
  request.ignores_case = 1;
  EXPECT_THAT(matching_lines(request, "DIS\xE2\x84\xAA\xC3\x89\nDISK\xC3\x89\ndisk\n"),
              ElementsAre("DIS\xE2\x84\xAA\xC3\x89", "DISK\xC3\x89"));
  EXPECT_THAT(matching_lines(pattern("(?i)masks?\\b"), "MA\xC5\xBFK\xC5\xBF\nmask\nnone\n"),
              ElementsAre("MA\xC5\xBFK\xC5\xBF", "mask"));
}

TEST(SearchMatcher, SpansLinesOnlyWhenAsked) {
  wire::Search request = pattern("a\\nb");
  EXPECT_THAT(matching_lines(request, "xa\nby\n"), IsEmpty());
  request.is_multiline = 1;
  EXPECT_THAT(matching_lines(request, "q\nxa\nby\na\nb\n"), ElementsAre("xa\nby", "a\nb"));
  request.pattern = "(?s)a.*b\n";
  EXPECT_THAT(matching_lines(request, "q\nxa\n\nby\na\nb\nz\n"), ElementsAre("xa\n\nby\na\nb"));
  request.pattern = "^$";
  EXPECT_THAT(matching_lines(request, "a\n\nb\n"), ElementsAre(""));
}

TEST(SearchMatcher, RefusesWhatRe2CannotRead) {
  const auto matcher = Matcher::compile(pattern("a(b"));
  ASSERT_FALSE(matcher);
  EXPECT_THAT(matcher.error().message, HasSubstr("missing )"));
  EXPECT_FALSE(Matcher::compile(pattern("(a)\\1")));
  EXPECT_FALSE(Matcher::compile(pattern("((a{100}){100}){100}")));
  EXPECT_FALSE(Matcher::compile(pattern(std::string(100'000, 'a'))));
}

TEST(SearchMatcher, TakesLinearTimeForPatternsThatExplodeElsewhere) {
  const std::string line(200'000, 'a');
  EXPECT_THAT(matching_lines(pattern("(a*)*(a|aa)+b"), line + "\n"), IsEmpty());
  EXPECT_EQ(matching_lines(pattern("(x+x+)+y|a$"), line + "\n").size(), 1U);
}

struct LiteralCase {
  const char* pattern;
  std::vector<std::string> literals;
};

TEST(RequiredLiterals, AreThoseNoMatchIsWithout) {
  const std::array kCases = {
      LiteralCase{"hello", {"hello"}},
      LiteralCase{"x+hello.*y", {"hello"}},
      LiteralCase{"foo_one|bar_two", {"bar_two", "foo_one"}},
      LiteralCase{"ab(cd|ef)gh", {"abcdgh", "abefgh"}},
      LiteralCase{"[a-z]+", {}},
      LiteralCase{"a?", {}},
      LiteralCase{"hello|.", {}},
  };
  for (const LiteralCase& known : kCases) {
    EXPECT_EQ(required_literals(known.pattern, RE2::Options()), known.literals) << known.pattern;
  }
}

// The literals exclude no line that RE2 matches: random patterns on random lines.
TEST(RequiredLiterals, LoseNoMatch) {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same patterns every time
  constexpr std::array kParts = {"ab",  "k",  "s",        "i",    "(ab|ka)", "[ks]", "a*",   ".",
                                 "\\b", "^",  "$",        "b+",   "(?i:sk)", "A",    "(b|)", "\\w",
                                 "|",   "is", "\xC3\x89", "[^a]", "ka?",     "i{2}"};
  constexpr std::array kPieces = {
      "a",        "b",        "k",        "s",        "i", "A",  "K",   "S", "I", "\xE2\x84\xAA",
      "\xC5\xBF", "\xC4\xB0", "\xC3\xA9", "\xC3\x89", " ", "\n", "\xFF"};
  int used = 0;
  for (int round = 0; round < 3000; ++round) {
    wire::Search request;
    for (std::size_t i = 0; i < 1 + random() % 5; ++i)
      request.pattern += kParts.at(random() % kParts.size());
    request.ignores_case = static_cast<std::uint8_t>(random() % 2);
    const auto matcher = Matcher::compile(request);
    if (!matcher) continue;
    std::string text;
    for (int i = 0; i < 120; ++i)
      text += kPieces.at(random() % kPieces.size());
    RE2::Options options;
    options.set_case_sensitive(request.ignores_case == 0);
    options.set_log_errors(false);
    const RE2 plain("(?m)" + request.pattern, options);
    std::uint64_t expected = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      expected += RE2::PartialMatch(text.substr(at, end - at), plain) ? 1 : 0;
      at = end + 1;
    }
    EXPECT_EQ((*matcher)->count(text), expected) << request.pattern << "\non\n" << text;
    ++used;
  }
  EXPECT_GT(used, 2000);
}

}  // namespace
}  // namespace nutshell::init::search
