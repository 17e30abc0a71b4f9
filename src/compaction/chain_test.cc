#include "compaction/chain.h"

#include <gtest/gtest.h>

#include "compaction/compactor.h"
#include "compaction/segments.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::string_view kCargo =
    "   Compiling app v0.1.0 (/p)\nwarning: unused variable: `x`\n --> src/lib.rs:2:9\n  |\n"
    "2 |     let x = 1;\n  |         ^ help: prefix it with an underscore: `_x`\n  |\n"
    "  = note: `#[warn(unused_variables)]` on by default\n\n"
    "warning: `app` (lib) generated 1 warning\n"
    "    Finished dev [unoptimized + debuginfo] target(s) in 0.31s\n";
constexpr std::string_view kPytest =
    "============================= test session starts ==============================\n"
    "platform linux -- Python 3.11.2, pytest-7.2.1\ncollected 2 items\n\n"
    "tests/test_a.py .F                                                       [100%]\n\n"
    "=================================== FAILURES ===================================\n"
    "____________________________________ test_b ____________________________________\n\n"
    "    def test_b():\n>       assert 41 == 42\nE       assert 41 == 42\n\n"
    "tests/test_a.py:5: AssertionError\n"
    "=========================== short test summary info ============================\n"
    "FAILED tests/test_a.py::test_b - assert 41 == 42\n"
    "========================= 1 failed, 1 passed in 0.02s ==========================\n";

Rendering rendered(std::string command, std::string_view output, std::string_view error) {
  Captured captured;
  captured.command = std::move(command);
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = 1;
  captured.output = output;
  captured.error = error;
  captured.recall_id = "o1a2b";
  return render(captured, {});
}

TEST(Chain, EachCommandHasItsParser) {
  const auto shown = rendered("cargo build && pytest", kPytest, kCargo);
  EXPECT_EQ(shown.parser, "pytest+cargo") << shown.text;
  for (const auto* part : {"[pytest]", "[cargo build]", "src/lib.rs:2:9", "unused variable: `x`",
                           "test_b", "assert 41 == 42", "1 failed, 1 passed"})
    EXPECT_TRUE(contains(shown.text, part)) << part << "\n" << shown.text;
  EXPECT_TRUE(contains(shown.reason, "lines 1-")) << shown.reason;
}

TEST(Chain, OneStreamIsCutWhereATestSessionBegins) {
  const auto both = std::string(kCargo) + std::string(kPytest);
  const auto shown = rendered("cargo build 2>&1; pytest", both, "");
  EXPECT_EQ(shown.parser, "cargo+pytest") << shown.text;
}

TEST(Chain, AnnouncedCommandsAreSegments) {
  std::string lint = "lint: commands[0]> flake8 src\n";
  for (int line = 1; line <= 40; ++line)
    lint += "src/a.py:" + std::to_string(line) + ":2: E225 missing whitespace around operator\n";
  const std::string tests = "unit: commands[0]> pytest\n" + std::string(kPytest);
  const auto shown =
      rendered("tox", lint + tests + "  lint: FAIL code 1\n  unit: FAIL code 1\n", "");
  for (const auto* part :
       {"[flake8 src]", "E225 missing whitespace around operator ×40: src/a.py:1:2 2:2", "[pytest]",
        "assert 41 == 42"})
    EXPECT_TRUE(contains(shown.text, part)) << part << "\n" << shown.text;
}

TEST(Chain, LastOfSeveralCommandsOfANameGivesItsWords) {
  const std::vector<std::string_view> lines = {"   Compiling a", "   Compiling b",
                                               "   Compiling c"};
  const std::vector<CommandWords> list = {{{"cargo", "build", "--release"}, true},
                                          {{"cargo", "test"}, true}};
  const auto segments = find_segments({lines, lines.size(), list});
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].command.words, (std::vector<std::string>{"cargo", "test"}));
}

TEST(Chain, OneProgramIsNoChain) {
  const std::vector<std::string_view> lines = {"commit 1", "", "diff --git a/x b/x", "@@ -1 +1 @@"};
  const std::vector<CommandWords> git = {{{"git", "log", "-p"}, true}};
  EXPECT_EQ(find_segments({lines, lines.size(), git}).size(), 1U);
  EXPECT_EQ(rendered("pytest", kPytest, "").parser, "pytest");
}

}  // namespace
}  // namespace nutshell::compaction
