#include "compaction/parsers/pytest_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/pytest_failure.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// Returns "FAILURES" for "==== FAILURES ====", and "" for other lines.
std::string_view titled(std::string_view line, char filler) {
  if (line.size() < 5 || line.front() != filler || line.back() != filler) return {};
  while (!line.empty() && line.front() == filler)
    line.remove_prefix(1);
  while (!line.empty() && line.back() == filler)
    line.remove_suffix(1);
  if (!line.starts_with(' ') || !line.ends_with(' ')) return {};
  return trim(line);
}

// "9 failed, 4 passed in 0.17s", alone with -q and between "=" without.
bool is_sum(std::string_view text) {
  const auto time = text.rfind(" in ");
  if (time == std::string_view::npos || !contains(text.substr(time), "s")) return false;
  text = text.substr(0, time);
  if (text == "no tests ran") return true;
  if (text.empty() || !is_digit(text.front())) return false;
  constexpr std::array<std::string_view, 9> kWords = {"passed",  "failed",     "error",
                                                      "skipped", "xfailed",    "xpassed",
                                                      "warning", "deselected", "rerun"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return contains(text, word); });
}

bool is_pytest_line(std::string_view line) {
  if (line.empty() || (line.front() != '=' && !is_digit(line.front()))) return false;
  if (is_digit(line.front())) return is_sum(line);
  const auto title = titled(line, '=');
  return title == "test session starts" || title == "FAILURES" || title == "ERRORS" ||
         title == "short test summary info" || is_sum(title);
}

bool recognises_pytest(const ParserInput& input) {
  const auto& command = input.command;
  const bool is_called = command.starts_with({"pytest"}) || command.starts_with({"py.test"}) ||
                         (command.has("-m") && command.has("pytest"));
  return is_called || has_line(input.lines, is_pytest_line);
}

enum class Section : std::uint8_t {
  Progress,
  Errors,
  Failures,
  Passes,  // output of tests that passed, with -rP
  Durations,
  Warnings,
  Summary,
  Coverage,
  Other
};

// ".F.sx" and what may stand behind it: "[ 40%]" or "[3/20]"
bool is_dots(std::string_view text) {
  text = trim(text);
  if (const auto open = text.rfind('['); open != std::string_view::npos && text.ends_with(']')) {
    const auto inside = text.substr(open + 1, text.size() - open - 2);
    if (inside.find_first_not_of("0123456789%/ ") != std::string_view::npos) return false;
    text = trim_right(text.substr(0, open));
  }
  return text.find_first_not_of(".FEsxXpPR,") == std::string_view::npos;
}

// The parts of a line in which -v says how a test ended, and what is printed behind the word:
// "(why) [ 40%]".
struct TestState {
  std::string_view word;
  std::string_view name;
  std::string_view reason;
};

// "test_a.py::test_ok PASSED [ 5%]", "[gw0] [ 5%] PASSED test_a.py::test_ok"
std::optional<TestState> test_state(std::string_view line) {
  constexpr std::array<std::string_view, 7> kWords = {"PASSED", "FAILED", "ERROR", "SKIPPED",
                                                      "XFAIL",  "XPASS",  "RERUN"};
  if (line.starts_with("[gw")) {
    auto text = line;
    while (text.starts_with('[') && take_until(text, "] "))
      text = trim_left(text);
    const auto word = take_word(text);
    if (std::ranges::find(kWords, word) == kWords.end()) return std::nullopt;
    return TestState{word, trim(text), {}};
  }
  if (!contains(line, "::")) return std::nullopt;
  for (const auto word : kWords) {
    const auto at = line.rfind(word);
    if (at == std::string_view::npos || at == 0 || line[at - 1] != ' ') continue;
    auto behind = trim(line.substr(at + word.size()));
    if (const auto percent = behind.rfind('['); percent != std::string_view::npos)
      behind = trim_right(behind.substr(0, percent));
    if (!behind.empty() && !(behind.starts_with('(') && behind.ends_with(')'))) continue;
    return TestState{word, trim(line.substr(0, at)), behind};
  }
  return std::nullopt;
}

bool is_session_line(std::string_view line) {
  constexpr std::array<std::string_view, 13> kStarts = {
      "platform ",   "rootdir: ", "plugins: ",          "cachedir: ", "configfile: ",
      "testpaths: ", "asyncio: ", "collecting ",        "gw0 ",       "scheduling tests ",
      "rootdir ",    "created: ", "hypothesis profile "};
  if (line.starts_with("collected ")) return !contains(line, "deselected");
  return std::ranges::any_of(kStarts, [&](auto start) { return line.starts_with(start); });
}

// "src/a.py   12   0   100%": nothing is missing.
// A line in the warnings summary that names no test, file or number of warnings: the tests that met
// a warning stand at the margin, everything else is indented.
bool is_foreign_to_warnings(std::string_view line) {
  if (is_blank(line) || indent_of(line) > 0 || line.starts_with("-- ")) return false;
  const bool is_sum = line.ends_with(" warning") || line.ends_with(" warnings");
  return contains(line, " ") && !contains(line, "::") && !is_sum;
}

bool is_covered(std::string_view line) {
  return trim(line).ends_with(" 100%") && !trim(line).starts_with("TOTAL");
}

class PytestScan {
 public:
  explicit PytestScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_title();
  void take_sum(std::string_view text);
  void take_section_line();
  void take_progress();
  void take_report();
  void take_warning();
  void take_summary();
  bool take_one_line_report();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  PytestFailures failures_{ledger_};
  Section section_ = Section::Progress;
  std::size_t no_report_before_ = 0;  // up to here no line ends a report of one line
  bool is_xdist_ = false;
};

void PytestScan::take_sum(std::string_view text) {
  for (const auto& total : counted_words(text.substr(0, text.rfind(" in ")))) {
    const bool is_bad = total.word == "failed" || total.word.starts_with("error");
    ledger_.add_total(total.word, total.count);
    if (is_bad) ledger_.expect_failures(total.count);
  }
  if (text.starts_with("no tests ran")) ledger_.keep("no tests ran");
}

Section section_of(std::string_view title) {
  if (title == "FAILURES") return Section::Failures;
  if (title == "ERRORS") return Section::Errors;
  if (title == "test session starts") return Section::Progress;
  if (title == "short test summary info") return Section::Summary;
  if (title == "PASSES" || title == "XPASSES" || title == "XFAILURES") return Section::Passes;
  if (title.starts_with("slowest")) return Section::Durations;
  return title.starts_with("warnings summary") ? Section::Warnings : Section::Other;
}

bool PytestScan::take_title() {
  const auto line = cursor_.line();
  if (is_digit(line.empty() ? ' ' : line.front()) && is_sum(line)) {
    take_sum(line);
    ledger_.account(line);
    ledger_.recognise();
    section_ = Section::Other;
    cursor_.advance();
    return true;
  }
  const bool is_coverage = contains(line, " coverage: platform ") &&
                           (line.starts_with("----") || line.starts_with("____"));
  if (is_coverage) {
    section_ = Section::Coverage;
    cursor_.advance();
    return true;
  }
  const auto title = titled(line, '=');
  if (title.empty()) return false;
  ledger_.account(line);
  if (is_sum(title)) take_sum(title);
  if (is_pytest_line(line)) ledger_.recognise();
  section_ = section_of(title);
  cursor_.advance();
  return true;
}

// "test_a.py .F.s [ 40%]", "test_a.py::test_ok PASSED [ 5%]", "[gw0] [ 5%] PASSED test_a.py::…".
// A name alone is progress only with xdist, which announces tests; else it is what --collect-only
// was asked for.
void PytestScan::take_progress() {
  const auto line = cursor_.line();
  const auto state = test_state(line);
  const auto dots = line.find(".py ");
  is_xdist_ = is_xdist_ || line.starts_with("scheduling tests ");
  const bool is_progress = state || is_dots(line) ||
                           (dots != std::string_view::npos && is_dots(line.substr(dots + 4))) ||
                           (is_xdist_ && contains(line, ".py::"));
  if (is_blank(line) || (!is_progress && !is_session_line(line))) {
    take_unknown(cursor_, ledger_);  // also "[gw0] node down: …", with the test it ran
    return;
  }
  cursor_.advance();
  failures_.note_progress(line);
  if (!state || state->reason.empty())
    ledger_.omit(is_progress ? "progress lines" : "session lines");
  else
    ledger_.set_aside_as("skipped tests",
                         fmt::format("{} {} {}", state->word, state->name, state->reason));
}

// Takes everything below "____ test_eq ____" up to the next such heading.
void PytestScan::take_report() {
  const auto heading = titled(cursor_.line(), '_');
  if (heading.empty()) {
    if (!take_one_line_report()) take_unknown(cursor_, ledger_);
    return;
  }
  cursor_.advance();
  const auto start = cursor_.position();
  while (!cursor_.done() && titled(cursor_.line(), '=').empty() &&
         titled(cursor_.line(), '_').empty())
    cursor_.advance();
  failures_.add_report(heading, input_.lines.subspan(start, cursor_.position() - start));
}

// --tb=line: "/src/test_a.py:11: assert 1 == 2" and, from pytest 8 on, "E   …" lines above it.
bool PytestScan::take_one_line_report() {
  if (section_ != Section::Failures || is_blank(cursor_.line())) return false;
  const auto start = cursor_.position();
  if (start < no_report_before_) return false;
  std::size_t end = start;
  while (end < input_.lines.size() && titled(input_.lines[end], '=').empty()) {
    const auto located = split_location(input_.lines[end]);
    ++end;
    if (!located || located->rest.empty() || !contains(located->where.file, "/")) continue;
    failures_.add_line_report(located->where, located->rest,
                              input_.lines.subspan(start, end - start - 1));
    cursor_.advance(end - start);
    return true;
  }
  no_report_before_ = end;
  return false;
}

// Takes a line of the warnings summary. Below the tests that met a warning: "  /src/a.py:38:
// DeprecationWarning: text" and its code.
void PytestScan::take_warning() {
  const auto line = cursor_.line();
  const auto located = split_location(trim(line));
  if (is_foreign_to_warnings(line)) return take_unknown(cursor_, ledger_);
  cursor_.advance();
  if (line.starts_with("  ") && located && !located->rest.empty()) {
    auto diagnostic = make_diagnostic(Severity::Warning, located->where, located->rest);
    (void)ledger_.add(std::move(diagnostic));
    if (cursor_.line().starts_with("    ")) {
      ledger_.omit("code excerpts");
      cursor_.advance();
    }
  } else if (!is_blank(line)) {
    const bool is_text = line.starts_with("  ") && !line.starts_with("    ");
    if (line.starts_with("-- Docs: "))
      ledger_.omit("summary lines");
    else if (is_text)
      ledger_.keep(trim(line));
    else
      ledger_.set_aside_as("tests with warnings", "warned: " + std::string(trim(line)));
  }
}

// "FAILED test_a.py::test_eq - assert …", "ERROR …", "SKIPPED [1] a.py:3: why", "XFAIL …"
void PytestScan::take_summary() {
  const auto line = cursor_.line();
  if (line.starts_with("!!!!")) {
    ledger_.keep(titled(line, '!'));
    cursor_.advance();
    return;
  }
  auto text = line;
  const auto word = take_word(text);
  if (word == "FAILED" || word == "ERROR")
    failures_.add_summary(word, text);
  else if (word == "SKIPPED" || word == "XFAIL" || word == "XPASS")
    ledger_.keep(line);
  else if (word == "PASSED")
    ledger_.omit("passing tests");
  else if (line.starts_with("  "))
    ledger_.omit_line("summary lines", line);
  else {
    take_unknown(cursor_, ledger_);
    return;
  }
  cursor_.advance();
}

void PytestScan::take_section_line() {
  switch (section_) {
    case Section::Progress:
      return take_progress();
    case Section::Errors:
    case Section::Failures:
      return take_report();
    case Section::Warnings:
      return take_warning();
    case Section::Summary:
      return take_summary();
    case Section::Passes:
      if (!is_blank(cursor_.line()))
        ledger_.set_aside_as("output of passing tests", std::string(cursor_.line()));
      return cursor_.advance();
    case Section::Durations:  // --durations asks for them
      if (!is_blank(cursor_.line())) ledger_.keep(cursor_.line());
      return cursor_.advance();
    case Section::Coverage:  // --cov asks for it
      if (is_covered(cursor_.line()))
        ledger_.omit("files covered whole");
      else if (!is_blank(cursor_.line()) && !cursor_.line().starts_with("----"))
        ledger_.keep(cursor_.line());
      return cursor_.advance();
    case Section::Other:
      return take_unknown(cursor_, ledger_);
  }
}

std::optional<Facts> PytestScan::parse() {
  while (!cursor_.done()) {
    if (!take_title()) take_section_line();
  }
  failures_.settle();
  return ledger_.settle("pytest", input_);
}

std::optional<Facts> parse_pytest(const ParserInput& input) {
  return PytestScan(input).parse();
}

}  // namespace

Parser pytest_parser() {
  return {.name = "pytest", .recognises = recognises_pytest, .parse = parse_pytest};
}

}  // namespace nutshell::compaction
