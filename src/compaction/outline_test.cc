#include "compaction/outline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compaction/clean.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

Outline outline_of(std::string_view output, std::size_t max_tokens = 6000) {
  static const std::string kId = "o1a2b";
  const CleanText text(output, "");
  return make_outline({text.lines(), max_tokens, kId});
}

bool has(const Outline& outline, std::string_view part) {
  return contains(outline.text, part);
}

TEST(Outline, EqualDiagnosticsAreOneWithAllPlaces) {
  const auto outline = outline_of(
      "a.py:1:2: W291 trailing whitespace\nb.py:3:4: W291 trailing whitespace\n"
      "b.py:5:1: F821 undefined name 'x'\n");
  EXPECT_TRUE(has(outline, "W291 trailing whitespace ×2: a.py:1:2 b.py:3:4")) << outline.text;
  EXPECT_TRUE(has(outline, "b.py:5:1: F821 undefined name 'x'")) << outline.text;
  EXPECT_EQ(outline.diagnostics, 3U);
}

TEST(Outline, DiagnosticThatIsPrintedTwiceAppearsOnce) {
  const std::string line = "/s/A.cs(3,5): error CS1002: ; expected [/s/A.csproj]\n";
  const auto outline = outline_of(line + "\nBuild FAILED.\n\n" + line + "    1 Error(s)\n");
  EXPECT_EQ(outline.diagnostics, 1U);
  EXPECT_TRUE(has(outline, "/s/A.cs:3:5: error: CS1002: ; expected")) << outline.text;
  EXPECT_TRUE(has(outline, "\n    1 Error(s)\n")) << outline.text;
  ASSERT_EQ(outline.omitted.size(), 1U);
  EXPECT_EQ(outline.omitted[0].what, "repeated diagnostics");
}

TEST(Outline, HeadingGivesTheFileOfItsRows) {
  const auto outline = outline_of(
      "deploy/a.yaml\n  3:81  error  too long  (line-length)\n"
      "  9:1  warning  no start  (document-start)\n\n");
  EXPECT_TRUE(has(outline, "deploy/a.yaml:\n 3:81 error: too long [line-length]\n"))
      << outline.text;
  EXPECT_TRUE(has(outline, " 9:1 warning: no start [document-start]\n")) << outline.text;
}

TEST(Outline, ShellcheckGivesFileAndLine) {
  const auto outline = outline_of(
      "In bin/a.sh line 7:\nrm -rf $x/y\n       ^-----^ SC2154 (warning): "
      "x is not assigned.\n       ^-- SC2086 (info): Quote it.\n\n");
  EXPECT_TRUE(has(outline, "bin/a.sh:\n 7: warning: SC2154 x is not assigned.\n")) << outline.text;
  EXPECT_TRUE(has(outline, " 7: info: SC2086 Quote it.\n")) << outline.text;
  EXPECT_FALSE(has(outline, "rm -rf"));
}

TEST(Outline, ErrorAmongTheLinesOfADiagnosticIsNoSource) {
  const auto shellcheck = outline_of(
      "In bin/a.sh line 7:\nrm -rf $x/y\n       ^-----^ SC2154 (warning): "
      "x is not assigned.\nERROR: the lease of kiln is gone\n\n");
  EXPECT_TRUE(has(shellcheck, "ERROR: the lease of kiln is gone\n")) << shellcheck.text;
  EXPECT_TRUE(has(shellcheck, "SC2154 x is not assigned.\n")) << shellcheck.text;
  const auto mypy = outline_of(
      "src/a.py:12: error: Incompatible types  [assignment]\n        x: int = \"2\"\n"
      "kiln: cannot open shared state: Permission denied\n                 ^~~\n\n");
  EXPECT_TRUE(has(mypy, "kiln: cannot open shared state: Permission denied\n")) << mypy.text;
}

TEST(Outline, ArrowFormTakesTheMessageAboveIt) {
  const auto outline = outline_of(
      "F401 [*] `os` imported but unused\n --> a.py:3:8\n  |\n"
      "3 | import os\n  |        ^^ not used here\n  |\n\n");
  EXPECT_TRUE(has(outline, "a.py:3:8: F401 [*] `os` imported but unused")) << outline.text;
  EXPECT_TRUE(has(outline, "not used here")) << outline.text;
}

TEST(Outline, PassingLinesAreCounted) {
  const auto outline = outline_of("ok: [a]\nok: [b]\nok: [c]\nfatal: [d]: FAILED!\n");
  EXPECT_FALSE(has(outline, "ok: ["));
  EXPECT_TRUE(has(outline, "fatal: [d]: FAILED!"));
  ASSERT_EQ(outline.omitted.size(), 1U);
  EXPECT_EQ(outline.omitted[0].what, "passing lines");
  EXPECT_EQ(outline.omitted[0].lines, 3U);
}

// A budget that cannot hold the whole output keeps an error with what it is about and says.
TEST(Outline, KeptErrorIsABlock) {
  std::string output = "TASK [copy the file]\n";
  output += "fatal: [web7]: FAILED!\n  expected: 41\n  got: 42\n\n";
  std::string noise;
  for (int at = 0; at < 900; ++at)
    noise += "word" + std::string(static_cast<std::size_t>(at % 7 + 1), 'x') + " says " +
             std::to_string(at * 7919) + " and " +
             std::string(static_cast<std::size_t>(at % 11), 'y') + " goes on\n\n";
  output = noise + output + noise + "Plan: 1 to add, 25 to change\n";
  const auto outline = outline_of(output, 600);
  EXPECT_TRUE(outline.is_cut);
  for (const auto* part : {"TASK [copy the file]", "fatal: [web7]", "expected: 41", "got: 42",
                           "Plan: 1 to add, 25 to change"})
    EXPECT_TRUE(has(outline, part)) << part << "\n" << outline.text;
  EXPECT_GT(outline.next, 0U);
}

TEST(Outline, ErrorsThatDifferInANameAreNotMerged) {
  const auto outline = outline_of(
      "Warning: label `a1' undefined\nWarning: label `a2' undefined\n"
      "Warning: label `a3' undefined\nWarning: label `a4' undefined\nWarning: label `a4' "
      "undefined\n");
  for (const auto* part :
       {"`a1' undefined", "`a2' undefined", "`a3' undefined", "`a4' undefined (×2)"})
    EXPECT_TRUE(has(outline, part)) << outline.text;
}

TEST(Outline, ChangesAreNotFolded) {
  std::string output = "@@ -1 +1 @@\n";
  for (int at = 0; at < 9; ++at)
    output += "The value is [-old_" + std::to_string(at) + "-]{+new+} here.\n";
  EXPECT_EQ(outline_of(output).folded, 0U);
}

TEST(Outline, FramesOfLibrariesAreCounted) {
  const auto outline = outline_of(
      "Error: bad\n    at run (/p/node_modules/x/y.js:1:2)\n"
      "    at mine (/p/src/a.js:3:4)\n    at node:internal/z:5:6\n");
  EXPECT_TRUE(has(outline, "/p/src/a.js:3:4")) << outline.text;
  EXPECT_FALSE(has(outline, "node_modules")) << outline.text;
}

TEST(Outline, PrefixOfAllLinesIsSaidOnce) {
  const auto outline = outline_of(
      "==7== Invalid write of size 1\n==7==    at 0x1: f (a.c:3)\n"
      "==7== \n==7== ERROR SUMMARY: 1 errors from 1 contexts\n");
  EXPECT_TRUE(outline.text.starts_with("==7== is in front of each line:\n")) << outline.text;
  EXPECT_TRUE(has(outline, "\n   at 0x1: f (a.c:3)\n")) << outline.text;
}

TEST(Outline, EqualErrorsBelowOtherHeadingsStayThere) {
  const auto outline = outline_of(
      "FOUND a\n  row: ERROR too long\nFOUND b\n  row: ERROR too long\nFOUND c\n"
      "  row: ERROR too long\n\nalpha\nerror: no such file\n\nbeta\nerror: no such file\n");
  EXPECT_FALSE(has(outline, "×")) << outline.text;
  EXPECT_TRUE(has(outline, "FOUND b\n  row: ERROR too long")) << outline.text;
  EXPECT_TRUE(has(outline, "beta\nerror: no such file")) << outline.text;
}

TEST(Outline, LinesThatTakeTurnsAreNotFoldedApart) {
  std::string output;
  for (int at = 10; at < 30; ++at)
    output += fmt::format("- complexity is {}\n- see lib/f{}.ex\n", at, at);
  const auto outline = outline_of(output + "a\nb\nc\n");
  EXPECT_FALSE(has(outline, "×")) << outline.text;
}

TEST(Outline, ParagraphsThatDifferInANameAreOneWithAllNames) {
  std::string output;
  for (int at = 0; at < 6; ++at) {
    output += fmt::format("\"pool-{}\" prio=5 tid=0x7f0{} waiting\n   State: WAITING\n", at, at) +
              "\tat Unsafe.park\n\n";
  }
  output += "\"writer-1\" prio=5 tid=0x7fff waiting\n   State: BLOCKED\n\tat shop.Ledger.lock\n\n";
  const auto outline = outline_of(output + "a\nb\nc\n");
  EXPECT_TRUE(has(outline, "×6 alike")) << outline.text;
  EXPECT_TRUE(has(outline, "pool-5")) << outline.text;
  EXPECT_TRUE(has(outline, "\"writer-1\"")) << outline.text;
  EXPECT_TRUE(has(outline, "shop.Ledger.lock")) << outline.text;
}

TEST(Outline, RowThatStandsOutIsShownIfNotAllFit) {
  std::string output = "STATE PEER PROCESS COUNT\n";
  for (int at = 0; at < 900; ++at) {
    const bool is_odd = at == 450;
    output +=
        fmt::format("{}  10.0.{}.{}:5432  api,pid=812,fd={}  {}\n", is_odd ? "CLOSE-WAIT" : "ESTAB",
                    at / 250, at % 250, at, at == 600 ? 77777 : at % 9);
  }
  const auto outline = outline_of(output, 600);
  EXPECT_TRUE(outline.is_cut);
  EXPECT_TRUE(has(outline, "CLOSE-WAIT  10.0.1.200:5432")) << outline.text;
  EXPECT_TRUE(has(outline, "fd=600  77777")) << outline.text;
}

TEST(Outline, WrappedMessageIsOneWithItsRule) {
  const auto outline = outline_of(
      "src/a.py:12: error: Incompatible return value type (got \"int\",\nexpected \"str\")  "
      "[return-value]\n        return value\n               ^~~~~\n"
      "src/b.py:3: error: Incompatible return value type (got \"int\",\nexpected \"bytes\")  "
      "[return-value]\n        return other\n               ^~~~~\n");
  EXPECT_TRUE(has(outline,
                  "src/a.py:12: error: Incompatible return value type (got \"int\", "
                  "expected \"str\") [return-value]"))
      << outline.text;
  EXPECT_TRUE(has(outline,
                  "src/b.py:3: error: Incompatible return value type (got \"int\", "
                  "expected \"bytes\") [return-value]"))
      << outline.text;
}

TEST(Outline, PlaceMayStandAlone) {
  const auto outline = outline_of(
      "src/a.f90:3:14:\n\n    3 |  x = \"a\"\n      |     1\nError: Cannot convert (1)\n"
      "File \"b.ml\", line 2, characters 4-9:\n2 | let x = y\n            ^\nError: Unbound value "
      "y\n\n"
      "error: `recieve` should be `receive`\n  ╭▸ c.md:1:4\n  │\n1 │ We recieve\n  ╰╴   ━━━━━━━\n\n"
      "E3006 Unknown type\nd.yaml:3:5\n\n");
  EXPECT_TRUE(has(outline, "src/a.f90:3:14: Error: Cannot convert (1)")) << outline.text;
  EXPECT_TRUE(has(outline, "b.ml:2: Error: Unbound value y (characters 4-9)")) << outline.text;
  EXPECT_TRUE(has(outline, "c.md:1:4: error: `recieve` should be `receive`")) << outline.text;
  EXPECT_TRUE(has(outline, "d.yaml:3:5: E3006 Unknown type")) << outline.text;
}

TEST(Outline, DividedRowsStandBelowTheirFile) {
  const std::string rows =
      "-----\nFOUND 2 ERRORS AFFECTING 2 LINES\n-----\n 1 | ERROR | [x] Header of a\n"
      "   |       |     file\n 2 | ERROR | [x] Brace\n-----\n\n";
  const auto outline = outline_of("FILE: /p/a.php\n" + rows + "FILE: /p/b.php\n" + rows);
  EXPECT_TRUE(has(outline, "ERROR: [x] Header of a file ×2: /p/a.php:1 /p/b.php:1"))
      << outline.text;
  EXPECT_TRUE(has(outline, "ERROR: [x] Brace ×2: /p/a.php:2 /p/b.php:2")) << outline.text;
}

TEST(Outline, DiagnosticsWhosePlaceIsNotTheirFirstWord) {
  const auto outline = outline_of(
      "  error • Undefined name 'x' • lib/a.dart:3:5 • undefined_identifier\n\n"
      "ERROR: InvalidReturnType - src/a.php:4:2 - is 'int', not 'string'\n\n"
      "[/src/a.go:12] - G104 (CWE-703): Errors unhandled\n  > 12: \tclose(x)\n\n"
      "%Warning-WIDTH: rtl/a.sv:7:9: 8 bits expected\n\n"
      "[error] /src/a.scala:9:2: type mismatch;\n[error]  found: Int\n[error]   val x = 1\n"
      "[error]       ^\n[error] two errors found\n");
  EXPECT_EQ(outline.diagnostics, 5U) << outline.text;
  for (const auto* const part :
       {"lib/a.dart:3:5: error: Undefined name 'x' [undefined_identifier]\n",
        "src/a.php:4:2: ERROR: is 'int', not 'string' [InvalidReturnType]\n",
        "/src/a.go:12: G104 (CWE-703): Errors unhandled\n",
        "rtl/a.sv:7:9: warning: 8 bits expected [WIDTH]\n",
        "/src/a.scala:9:2: error: type mismatch;\n  found: Int\n"})
    EXPECT_TRUE(has(outline, part)) << part << outline.text;
  EXPECT_FALSE(has(outline, "close(x)") || has(outline, "val x")) << outline.text;
}

TEST(Outline, DiagnosticsWhosePlaceStandsBelow) {
  const auto outline = outline_of(
      "│ Error: Unsupported argument\n│ \n│   on main.tf line 3, in resource \"a\" \"b\":\n"
      "│    3:   x = 1\n│ \n│ It is not expected here.\n╵\n\n"
      "    warning: variable \"y\" is unused\n    │\n  7 │   def f(y) do\n    │       ~\n"
      "    └─ lib/a.ex:7:9: A.f/1\n\n"
      " ------ ------\n  Line   src/a.php\n ------ ------\n  12     Call to f().\n"
      "         method.notFound\n ------ ------\n");
  EXPECT_EQ(outline.diagnostics, 3U) << outline.text;
  for (const auto* const part : {"main.tf:3: Error: Unsupported argument (in resource \"a\" "
                                 "\"b\")\n  It is not expected here.",
                                 "lib/a.ex:7:9: warning: variable \"y\" is unused (A.f/1)\n",
                                 "src/a.php:12: Call to f().\n  method.notFound\n"})
    EXPECT_TRUE(has(outline, part)) << part << outline.text;
}

TEST(Outline, DiagnosticsThatDoNotFitAreATable) {
  std::string output;
  for (int row = 1; row <= 200; ++row)
    output +=
        fmt::format("src/a{}.py:{}:5: F401 'name_{}' imported but unused\n", row / 20, row, row);
  const auto outline = outline_of(output, 2000);
  EXPECT_TRUE(has(outline, "A = F401 '…' imported but unused ×200\n")) << outline.text;
  EXPECT_TRUE(has(outline, ", 200:5 A name_200\n") || has(outline, " 200:5 A name_200\n"))
      << outline.text;
}

TEST(Outline, ChecksThatPassedAreCountedWithTheirParagraph) {
  std::string output;
  for (int check = 0; check < 5; ++check)
    output += fmt::format("Check: C{}: \"text\"\n\tPASSED for resource: r{}\n\tFile: a.tf:{}\n\n",
                          check, check, check);
  const auto outline = outline_of(
      output + "Check: C9: \"text\"\n\tFAILED for resource: r9\n\tFile: a.tf:9\n\nend\n");
  EXPECT_TRUE(has(outline, "Check: C9: \"text\"\n\tFAILED for resource: r9\n\tFile: a.tf:9\n"))
      << outline.text;
  EXPECT_FALSE(has(outline, "r3")) << outline.text;
}

TEST(Outline, FieldsBelowTheirHeadingsAreNotFoldedAcrossThem) {
  std::string output;
  for (int test = 0; test < 8; ++test)
    output += fmt::format("Failure (t-{}.R:3): of {}\n  `actual`: {}\n`expected`: {}\n----\n", test,
                          std::string(1, static_cast<char>('p' + test)), test * 37, test * 91);
  const auto outline = outline_of(output + "one\ntwo\nthree\n");
  EXPECT_TRUE(has(outline, "`actual`: 185\n`expected`: 455\n")) << outline.text;
}

// A file's name stands above its first diagnostic: if that does not fit, the others may not stand
// below the name of another file.
TEST(Outline, CutDiagnosticsStayBelowTheirOwnFile) {
  std::string output;
  for (int file = 0; file < 40; ++file) {
    output += fmt::format("f{}.py:1:1: E1{} {}\n", file, file + 10,
                          std::string(60U + static_cast<unsigned>(file) * 7U, 'x'));
    for (int row = 2; row < 6; ++row)
      output += fmt::format("f{}.py:{}:1: E9{}{} y\n", file, row, file, row);
  }
  const auto outline = outline_of(output, 500);
  std::string file;
  std::string_view text = outline.text;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("f")) file = line.substr(0, line.find('.'));
    const auto code = line.find(" E9");
    if (code == std::string_view::npos) continue;
    EXPECT_TRUE(line.substr(code + 3).starts_with(file.substr(1))) << outline.text;
  }
}

}  // namespace
}  // namespace nutshell::compaction
