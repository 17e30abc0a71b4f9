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
