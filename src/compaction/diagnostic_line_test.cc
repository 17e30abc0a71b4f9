#include "compaction/diagnostic_line.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "a.py:3:5|warning|rule|message"
std::string shown(const std::optional<Diagnostic>& diagnostic) {
  if (!diagnostic) return "none";
  constexpr std::array<std::string_view, 4> kWords = {"error", "warning", "note", ""};
  const auto word = diagnostic->word.empty()
                        ? kWords.at(static_cast<std::size_t>(diagnostic->severity))
                        : std::string_view(diagnostic->word);
  return fmt::format("{}|{}|{}|{}", to_text(diagnostic->where), word, diagnostic->rule,
                     diagnostic->message);
}

std::string read(std::string_view line) {
  return shown(read_diagnostic(line));
}

TEST(DiagnosticLine, CodeWithoutSeverityHasNone) {
  EXPECT_EQ(read("src/a.py:12:5: E701 multiple statements on one line (colon)"),
            "src/a.py:12:5|||E701 multiple statements on one line (colon)");
  EXPECT_EQ(read("a.py:1:0: C0114: Missing docstring (missing-docstring)"),
            "a.py:1||missing-docstring|C0114: Missing docstring");
}

TEST(DiagnosticLine, FormsOfAPlaceAreKnown) {
  EXPECT_EQ(read("a.py:3: error: Bad type  [arg-type]"), "a.py:3|error|arg-type|Bad type");
  EXPECT_EQ(read("  /p/a.py:3:5 - error: Bad (reportCallIssue)"),
            "/p/a.py:3:5|error|reportCallIssue|Bad");
  EXPECT_EQ(read("A.cs(3,5): error CS1002: ; expected"), "A.cs:3:5|error||CS1002: ; expected");
  EXPECT_EQ(read("Dockerfile:3 DL3006 warning: Tag it"), "Dockerfile:3|warning||DL3006 Tag it");
  EXPECT_EQ(read("a.hs:3:5-9: error: Not in scope"), "a.hs:3:5|error||Not in scope");
  EXPECT_EQ(read("a.c:9:2: style: unused [unusedVariable]"), "a.c:9:2|style|unusedVariable|unused");
  EXPECT_EQ(read("a.yml:3:1: [warning] too long (line-length)"),
            "a.yml:3:1|warning|line-length|too long");
  EXPECT_EQ(read("a.rb:3:1: C: [Correctable] Style/If: Use it"),
            "a.rb:3:1|C||[Correctable] Style/If: Use it");
}

TEST(DiagnosticLine, WordsOfAMessageAreNoSeverity) {
  EXPECT_EQ(read("a.go:3:5: Error return value of `f` is not checked (errcheck)"),
            "a.go:3:5|||Error return value of `f` is not checked (errcheck)");
  EXPECT_EQ(read("a.c:3:5: warning unknown option"), "a.c:3:5|||warning unknown option");
  EXPECT_EQ(read("a.ts:3:5 - error TS2304: No x"), "a.ts:3:5|error||TS2304: No x");
  EXPECT_EQ(read("a.md:3:81 error MD013/line-length Long"),
            "a.md:3:81|error||MD013/line-length Long");
}

TEST(DiagnosticLine, IndentedLineNeedsASeverityOrARule) {
  EXPECT_EQ(read("  /p/a.js:3:5: 'x' is not defined. (no-undef)"),
            "/p/a.js:3:5||no-undef|'x' is not defined.");
  EXPECT_EQ(read("  /p/a.js:3:5: 'x' is not defined."), "none");
}

TEST(DiagnosticLine, SentenceMayHoldThePlace) {
  EXPECT_EQ(read("src/a.pl: Unpack @_ first at line 6, column 1.  See page 178.  (Severity: 4)"),
            "src/a.pl:6:1|||Unpack @_ first. See page 178.  (Severity: 4)");
  EXPECT_EQ(read("src/a.pl: died at line 6."), "none");
}

TEST(DiagnosticLine, RowMayBeDividedByBars) {
  EXPECT_EQ(shown(read_divided_row(" 12 | ERROR | [x] Too long", "a.php")),
            "a.php:12|ERROR||[x] Too long");
  EXPECT_EQ(shown(read_divided_row("L:   3 | P:  10 | LT01 | Expected a blank", "a.sql")),
            "a.sql:3:10|||LT01  Expected a blank");
  EXPECT_FALSE(read_divided_row("name | size | date", "a.sql"));
  EXPECT_EQ(more_of_divided_row("    |       | of the line"), "of the line");
  EXPECT_EQ(more_of_divided_row(" 12 | ERROR | x"), "");
  EXPECT_EQ(path_in("FILE: /srv/a.php"), "/srv/a.php");
  EXPECT_EQ(path_in("== [src/a.sql] FAIL"), "src/a.sql");
  EXPECT_EQ(path_in("a.c b.c"), "");
}

TEST(DiagnosticLine, FileFormNamesFileAndLine) {
  const auto place = read_file_place("File \"lib/feed_proxy.ml\", line 2, characters 4-9:");
  ASSERT_TRUE(place);
  EXPECT_EQ(to_text(place->where), "lib/feed_proxy.ml:2");
  EXPECT_EQ(place->rest, "characters 4-9");
  EXPECT_FALSE(read_file_place("  File \"a.py\", line 2, in run"));
}

TEST(DiagnosticLine, OtherLinesAreNone) {
  for (const auto* line : {"12:30:05: started", "10.0.0.1:8080: refused", "http://a.b:80: x",
                           "a.py:3:5", "see a.py:3: x", "    at a.js:3:5", "a.js:3:5 x ━━━━", ""})
    EXPECT_EQ(read(line), "none") << line;
}

TEST(DiagnosticLine, RowIsBelowItsFile) {
  EXPECT_EQ(shown(read_row("  3:81   error  too long (99 > 80)  (line-length)", "a.yml")),
            "a.yml:3:81|error|line-length|too long (99 > 80)");
  EXPECT_EQ(shown(read_row(" 12:3  ✖  Unexpected unit  unit-no-unknown", "a.css")),
            "a.css:12:3|✖|unit-no-unknown|Unexpected unit");
  EXPECT_FALSE(read_row("  12  text", "a.css"));
}

}  // namespace
}  // namespace nutshell::compaction
