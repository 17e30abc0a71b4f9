#include "compaction/diagnostic_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

Diagnostic said(const std::string& file, std::uint32_t line, const std::string& message,
                Severity severity = Severity::Unstated) {
  return {severity, {file, line, 5}, message, "", {}};
}

std::string text_of(const DiagnosticBlocks& table) {
  std::string text;
  for (const FactBlock& block : table.blocks)
    text += block.head;
  return text;
}

TEST(DiagnosticTable, MessageStandsOnceAndItsNamesBehindThePlaces) {
  const auto table = diagnostic_table({said("a.py", 3, "F401 'os' imported but unused"),
                                       said("a.py", 9, "W291 trailing whitespace"),
                                       said("b.py", 4, "F401 'sys' imported but unused")});
  EXPECT_EQ(text_of(table),
            "each message once; its letter and its words (…) are behind each place:\n"
            "A = F401 '…' imported but unused ×2\nB = W291 trailing whitespace ×1\n"
            "a.py: 3:5 A os, 9:5 B\nb.py: 4:5 A sys\n");
}

TEST(DiagnosticTable, NumbersAndNamesOfProgramsVaryToo) {
  const auto text = text_of(diagnostic_table({said("a.go", 1, "line is 80 long, call OpenFile"),
                                              said("a.go", 2, "line is 90 long, call ReadFile")}));
  EXPECT_TRUE(contains(text, "A = line is … long, call … ×2\n")) << text;
  EXPECT_TRUE(contains(text, "a.go: 1:5 A 80 OpenFile, 2:5 A 90 ReadFile\n")) << text;
}

TEST(DiagnosticTable, QuotedSentencesDoNotVary) {
  const auto text = text_of(
      diagnostic_table({said("a.c", 1, "it isn't 'a b'"), said("a.c", 2, "it isn't 'c d'")}));
  EXPECT_TRUE(contains(text, "A = it isn't 'a b' ×1\nB = it isn't 'c d' ×1\n")) << text;
}

TEST(DiagnosticTable, ErrorsComeFirstAndDetailsAreCounted) {
  auto warning = said("a.c", 1, "unused", Severity::Warning);
  warning.detail = {"one", "two"};
  const auto table = diagnostic_table({warning, said("b.c", 7, "missing", Severity::Error)});
  EXPECT_EQ(table.details, 2U);
  const auto text = text_of(table);
  EXPECT_TRUE(
      contains(text, "A = error: missing ×1\nB = warning: unused ×1\nb.c: 7:5 A\na.c: 1:5 B"))
      << text;
}

TEST(DiagnosticTable, EveryDiagnosticCountsOnce) {
  std::vector<Diagnostic> many;
  for (std::uint32_t line = 1; line <= 100; ++line)
    many.push_back(said("a.c", line, fmt::format("unused 'x{}'", line)));
  std::size_t facts = 0;
  for (const FactBlock& block : diagnostic_table(many).blocks)
    facts += block.facts;
  EXPECT_EQ(facts, 100U);
}

TEST(DiagnosticTable, FewDiagnosticsStayAsTheyAre) {
  std::vector<Diagnostic> some;
  for (std::uint32_t line = 1; line <= 20; ++line)
    some.push_back(said(fmt::format("src/directory/file_{}.c", line), line,
                        fmt::format("the variable 'x{}' is never read", line)));
  EXPECT_FALSE(blocks_within(some, 6000).is_table);
  for (std::uint32_t line = 1; line <= 200; ++line)
    some.push_back(said("src/directory/file.c", line,
                        fmt::format("the variable 'x{}' is never read by anything", line)));
  EXPECT_TRUE(blocks_within(some, 6000).is_table);
  some.front().detail = {"needed to act on it"};
  EXPECT_FALSE(blocks_within(some, 60000).is_table);
  EXPECT_TRUE(blocks_within(some, 100).is_table);
}

}  // namespace
}  // namespace nutshell::compaction
