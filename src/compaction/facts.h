// The result of a typed parser. A parser accounts for every line: it puts lines that it does not
// understand into `kept` and counts lines that it leaves out in `omitted`. The formatter, not the
// parser, decides how much of this fits a budget, in this order: verdict, failures, diagnostics,
// totals, kept lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::compaction {

struct Location {
  std::string file;
  std::uint32_t line = 0;    // 0: none given
  std::uint32_t column = 0;  // 0: none given
};

// Unstated: the tool gives a code or a message and no severity, as flake8 does.
enum class Severity : std::uint8_t { Error, Warning, Note, Unstated };

// One message of a compiler, linker, linter or interpreter.
struct Diagnostic {
  Severity severity = Severity::Error;
  Location where;
  std::string message;  // first line, as printed, without its location and severity word
  std::string rule;     // "-Wunused-variable", "E0308", "no-undef"; empty: none
  std::vector<std::string> detail;  // lines that are needed to act on it (expected/found, notes)
  std::string word = {};  // the severity as printed if it is another word ("style"); empty: its own
};

// One test that did not pass.
struct Failure {
  std::string name;           // as the runner names it, whole
  std::string word = "FAIL";  // or "ERROR", "TIMEOUT": what the runner said happened
  Location where;
  std::vector<std::string> detail;  // assertion, values, panic text; no passing noise
};

// A number the tool itself printed ("3 failed"), or one counted from what it printed.
struct Total {
  std::string word;  // "passed", "failed", "warnings"
  std::uint64_t count = 0;
};

// Lines that are left out and counted, because only their number matters.
struct Omission {
  std::string what;  // "passing tests", "progress lines", "code excerpts"
  std::uint64_t lines = 0;
};

// A part of the output that is shown whole or only named, such as one file of a diff.
struct Section {
  std::string head;  // "# src/a.cc +2 -1"
  std::vector<std::string> lines;
  std::vector<std::string> brief;  // the lines without context, for small budgets
  std::size_t first_line = 0;      // where it begins in the output, counted from 0
};

// Records or elements that are not shown, and the arguments of the `recall` that shows them.
struct Unshown {
  std::string what;       // "995 of 1000 records"
  std::string arguments;  // "pointer=/items rows=3-998"
};

struct Facts {
  std::string tool;           // "cargo test": goes into the status line
  std::vector<Total> totals;  // in the tool's order
  std::vector<Failure> failures;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> kept;  // lines to be shown as they are (already shortened forms too)
  std::vector<Section> sections;  // shown after the kept lines
  std::vector<Omission> omitted;
  std::vector<Unshown> unshown;  // said last, and as long as there is room
  // Lines that look like errors and are not, or that a fact reports in other words, as views of any
  // part of such a line. The canary looks for all other lines that look like errors.
  std::vector<std::string_view> accounted;
  // The output is data (a diff, a listing, a file), in which the word "error" reports no error.
  bool is_data = false;
};

}  // namespace nutshell::compaction
