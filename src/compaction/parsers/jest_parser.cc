#include "compaction/parsers/jest_parser.h"

#include <string>
#include <unordered_set>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/js_reports.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "PASS ./c.test.js (5.2 s)", "FAIL packages/a b.test.js"
std::string_view suite_of(std::string_view line) {
  if (!take_prefix(line, "PASS ") && !take_prefix(line, "FAIL ")) return {};
  const auto time = line.rfind(" (");
  if (time != std::string_view::npos && line.ends_with(')')) line = line.substr(0, time);
  line = trim(line);
  const bool is_file = contains(line, ".js") || contains(line, ".ts") || contains(line, ".mjs") ||
                       contains(line, ".cjs") || contains(line, "/");
  return is_file && !contains(line, " > ") ? line : std::string_view{};
}

bool is_jest_line(std::string_view line) {
  return line.starts_with("Test Suites: ") || line.starts_with("  ● ") ||
         line.starts_with("No tests found, exiting with code ");
}

bool recognises_jest(const ParserInput& input) {
  return input.command.has("jest") || has_line(input.lines, is_jest_line);
}

class JestScan {
 public:
  explicit JestScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_suite();
  bool take_block();
  void take_console(Lines lines);
  bool take_sum();
  bool take_progress();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::string suite_;
  std::unordered_set<std::string> known_;  // a long run repeats its failures at the end
};

bool JestScan::take_suite() {
  const auto suite = suite_of(cursor_.line());
  if (suite.empty()) return false;
  suite_ = suite;
  const bool is_pass = cursor_.line().starts_with("PASS ");
  ledger_.omit(is_pass ? "passing suites" : "progress lines");
  cursor_.advance();
  return true;
}

bool ends_block(std::string_view line) {
  return line.starts_with("  ● ") || !suite_of(line).empty() || line.starts_with("Test Suites: ") ||
         line.starts_with("Summary of all failing tests") || line.starts_with("-----") ||
         line.starts_with("  console.");  // printed by a test, told before its suite
}

// Takes what tests printed.
void JestScan::take_console(Lines lines) {
  for (LineCursor inner(lines); !inner.done();)
    take_unknown(inner, ledger_);
}

// "  ● math › adds wrong" and all below it.
bool JestScan::take_block() {
  auto title = cursor_.line();
  if (!take_prefix(title, "  ● ")) return false;
  cursor_.advance();
  const auto start = cursor_.position();
  while (!cursor_.done() && !ends_block(cursor_.line()))
    cursor_.advance();
  const auto lines = input_.lines.subspan(start, cursor_.position() - start);
  if (title == "Console") {
    take_console(lines);
    return true;
  }
  const bool is_suite = title == "Test suite failed to run";
  const auto name = is_suite ? suite_ + ": " + std::string(title) : std::string(title);
  if (!known_.insert(suite_ + "\n" + name).second) {
    ledger_.omit("repeated failures", lines.size() + 1);
    return true;
  }
  auto failure = make_failure(name);
  ledger_.account(title);
  describe_js_error(lines, ledger_, failure);
  if (failure.where.file.empty()) failure.where.file = suite_;
  ledger_.add(std::move(failure));
  return true;
}

bool JestScan::take_sum() {
  auto text = cursor_.line();
  if (take_prefix(text, "Test Suites:")) {
    add_js_totals(text, "suites", ledger_);
    ledger_.recognise();
  } else if (take_prefix(text, "Tests:")) {
    add_js_totals(text, "", ledger_);
    for (const auto& total : counted_words(text)) {
      if (total.word == "failed") ledger_.expect_failures(total.count);
    }
  } else if (take_prefix(text, "Snapshots:")) {
    if (!contains(text, "0 total")) add_js_totals(text, "snapshots", ledger_);
  } else if (!text.starts_with("Time:  ") && !text.starts_with("Ran all test suites")) {
    return false;
  }
  ledger_.account(cursor_.line());
  cursor_.advance();
  return true;
}

bool JestScan::take_progress() {
  const auto test = marked_test(cursor_.line());
  const bool is_head = cursor_.line().starts_with("Summary of all failing tests");
  if (test.mark == MarkedTest::Mark::None && !is_head) return false;
  account_for_test(cursor_.line(), test, ledger_);
  cursor_.advance();
  return true;
}

std::optional<Facts> JestScan::parse() {
  while (!cursor_.done()) {
    if (is_jest_line(cursor_.line())) ledger_.recognise();
    if (take_coverage_row(cursor_, ledger_)) continue;
    if (take_suite() || take_block() || take_sum() || take_progress()) continue;
    if (is_js_excerpt(cursor_.line())) {
      ledger_.omit("code excerpts");
      cursor_.advance();
    } else {
      take_unknown(cursor_, ledger_);
    }
  }
  return ledger_.settle("jest", input_);
}

std::optional<Facts> parse_jest(const ParserInput& input) {
  return JestScan(input).parse();
}

}  // namespace

Parser jest_parser() {
  return {.name = "jest", .recognises = recognises_jest, .parse = parse_jest};
}

}  // namespace nutshell::compaction
