#include "compaction/parsers/ctest_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "compaction/parsers/asked_for.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/gtest_report.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// " 2/8 Test  #5: nosuch ........***Not Run   0.00 sec"
struct TestLine {
  std::uint64_t number = 0;
  std::string_view name;
  std::string_view state;  // "Passed", "Failed", "Exception: SegFault"
};

std::string_view without_seconds(std::string_view text) {
  text = trim(text);
  if (!text.ends_with(" sec")) return text;
  text = trim_right(text.substr(0, text.size() - 4));
  const auto blank = text.rfind(' ');
  return blank == std::string_view::npos ? std::string_view{} : trim(text.substr(0, blank));
}

std::optional<TestLine> test_line(std::string_view line) {
  auto text = trim_left(line);
  if (!take_number(text) || !take_prefix(text, "/") || !take_number(text)) return std::nullopt;
  text = trim_left(text);
  if (!take_prefix(text, "Test")) return std::nullopt;
  text = trim_left(text);
  if (!take_prefix(text, "#")) return std::nullopt;
  const auto number = take_number(text);
  if (!number || !take_prefix(text, ": ")) return std::nullopt;
  const auto stars = text.find("***");
  const auto head =
      text.substr(0, stars == std::string_view::npos ? text.rfind("   Passed ") : stars);
  // The name, a blank, dots; "Subprocess aborted" may stand between the dots and the stars.
  const auto last_dot = head.rfind('.');
  if (last_dot == std::string_view::npos) return std::nullopt;
  auto name = head.substr(0, last_dot + 1);
  while (name.ends_with('.'))
    name.remove_suffix(1);
  TestLine test{*number, trim(name), "Passed"};
  if (stars != std::string_view::npos) test.state = without_seconds(text.substr(stars + 3));
  return test;
}

// "    Start 5: nosuch"
bool is_start(std::string_view line) {
  auto text = trim_left(line);
  if (!line.starts_with("  ") || !take_prefix(text, "Start ")) return false;
  text = trim_left(text);
  return take_number(text) && text.starts_with(": ");
}

bool is_sum(std::string_view line) {
  return contains(line, "% tests passed, ") && contains(line, " out of ");
}

bool is_ctest_line(std::string_view line) {
  return line.starts_with("Test project /") || is_sum(line) || test_line(line).has_value() ||
         line == "The following tests FAILED:";
}

bool recognises_ctest(const ParserInput& input) {
  const bool lists_tests = input.command.starts_with({"ctest"}) &&
                           asks_for(input.command, {"-N", "--show-only", "--print-labels"});
  if (lists_tests) return false;
  return input.command.starts_with({"ctest"}) || has_line(input.lines, is_ctest_line);
}

class CtestScan {
 public:
  explicit CtestScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_prefixed();
  bool take_test();
  bool take_list();
  bool take_sum();
  bool take_chatter();
  std::vector<std::string_view> take_output();
  void describe(const std::vector<std::string_view>& printed, Failure failure);

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::map<std::uint64_t, std::vector<std::string_view>> printed_;  // with -V, by test
  std::unordered_set<std::string>
      ctest_names_;  // of the failures; parts of a test are failures too
  std::uint64_t expected_ = 0;
};

// "3: text": with -V, what test 3 prints.
bool CtestScan::take_prefixed() {
  auto text = cursor_.line();
  const auto number = take_number(text);
  if (!number || !take_prefix(text, ":")) return false;
  (void)take_prefix(text, " ");  // an empty line has none
  const bool is_set_up = text.starts_with("Test command: ") ||
                         text.starts_with("Working Directory: ") ||
                         text.starts_with("Test timeout computed to be: ");
  if (is_set_up)
    ledger_.omit("progress lines");
  else if (!is_blank(text))
    printed_[*number].push_back(text);
  cursor_.advance();
  return true;
}

bool ends_output(std::string_view line) {
  return is_start(line) || test_line(line).has_value() || is_sum(line) ||
         line.starts_with("test ") || line.starts_with("The following tests ");
}

std::vector<std::string_view> CtestScan::take_output() {
  std::vector<std::string_view> lines;
  for (; !cursor_.done() && !ends_output(cursor_.line()); cursor_.advance()) {
    if (!is_blank(cursor_.line())) lines.push_back(cursor_.line());
  }
  return lines;
}

// A GoogleTest program's failures are told one by one, after the test of ctest's they are part of.
void CtestScan::describe(const std::vector<std::string_view>& printed, Failure failure) {
  if (!std::ranges::any_of(printed, is_gtest_line)) {
    failure.detail = condensed(printed, ledger_);
    ledger_.add(std::move(failure));
    return;
  }
  Ledger inner;
  GtestReport report(inner);
  for (const auto line : printed) {
    if (!report.take(line) && !is_blank(line)) failure.detail.emplace_back(trim(line));
  }
  report.finish(input_.ending);
  ledger_.add(std::move(failure));
  for (auto& part : inner.facts().failures)
    ledger_.add(std::move(part));
  for (const auto& omission : inner.facts().omitted)
    ledger_.omit(omission.what, omission.lines);
}

bool CtestScan::take_test() {
  const auto test = test_line(cursor_.line());
  if (!test) return false;
  cursor_.advance();
  auto printed = std::move(printed_[test->number]);
  printed_.erase(test->number);
  if (test->state == "Passed" || test->state.starts_with("Skipped")) {
    const bool is_pass = test->state == "Passed";
    ledger_.omit(is_pass ? "passing tests" : "skipped tests");
    for (const auto line : printed)
      ledger_.set_aside_as("output of passing tests",
                           fmt::format("{}: {}", test->name, trim(line)));
    if (!is_pass) ledger_.keep("skipped: " + std::string(test->name));
    return true;
  }
  for (const auto line : take_output())
    printed.push_back(line);
  ctest_names_.emplace(test->name);
  auto failure = make_failure(test->name, test->state == "Failed" ? "FAIL" : test->state);
  describe(printed, std::move(failure));
  return true;
}

// "\t  2 - fails (Failed)": known already, unless the lines above were cut off.
bool CtestScan::take_list() {
  const bool is_failed = cursor_.line() == "The following tests FAILED:";
  if (!is_failed && !cursor_.line().starts_with("The following tests ")) return false;
  ledger_.account(cursor_.line());
  cursor_.advance();
  for (; cursor_.line().starts_with('\t'); cursor_.advance()) {
    auto text = trim(cursor_.line());
    ledger_.omit_line("summary lines", text);
    if (!is_failed || !take_number(text) || !take_prefix(text, " - ")) continue;
    const auto name = text.substr(0, text.rfind(" ("));
    if (ctest_names_.emplace(name).second) ledger_.add(make_failure(name));
  }
  return true;
}

// "25% tests passed, 6 tests failed out of 8"
bool CtestScan::take_sum() {
  auto text = trim_left(cursor_.line());
  if (!is_sum(text) || !take_until(text, "passed, ")) return false;
  const auto failed = take_number(text).value_or(0);
  (void)take_until(text, " out of ");  // is_sum saw it
  const auto all = take_number(text).value_or(0);
  ledger_.add_total("failed", failed);
  ledger_.add_total("tests", all);
  expected_ += failed;
  ledger_.account(cursor_.line());
  cursor_.advance();
  return true;
}

bool CtestScan::take_chatter() {
  const auto line = cursor_.line();
  if (line.starts_with("Total Test time ") || contains(line, " sec*proc (")) {
    ledger_.keep(line);
    cursor_.advance();
    return true;
  }
  const bool is_chatter =
      is_start(line) || line.starts_with("Test project ") ||
      line.starts_with("UpdateCTestConfiguration ") || line.starts_with("Constructing a list ") ||
      line.starts_with("Done constructing ") || line.starts_with("Updating test list ") ||
      line.starts_with("Added 0 tests to ") || line.starts_with("Checking test dependency ") ||
      line.starts_with("Label Time Summary") || line == "Running tests..." ||
      line == "Errors while running CTest" ||
      line.starts_with("Output from these tests are in: ") ||
      line.starts_with("Use \"--rerun-failed ") ||
      line.starts_with("Looked in the following places") ||
      (line.starts_with("test ") && line.size() < 12);
  if (!is_chatter) return false;
  ledger_.omit_line("progress lines", line);
  cursor_.advance();
  return true;
}

std::optional<Facts> CtestScan::parse() {
  while (!cursor_.done()) {
    if (is_ctest_line(cursor_.line())) ledger_.recognise();
    if (take_test() || take_sum() || take_list() || take_chatter() || take_prefixed()) continue;
    take_unknown(cursor_, ledger_);
  }
  for (const auto& [number, lines] : printed_) {  // of tests that never ended
    for (const auto line : lines)
      ledger_.set_aside(line);
  }
  if (ctest_names_.size() < expected_) return std::nullopt;
  return ledger_.settle("ctest", input_);
}

std::optional<Facts> parse_ctest(const ParserInput& input) {
  return CtestScan(input).parse();
}

}  // namespace

Parser ctest_parser() {
  return {.name = "ctest", .recognises = recognises_ctest, .parse = parse_ctest};
}

}  // namespace nutshell::compaction
