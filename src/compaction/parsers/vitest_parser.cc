#include "compaction/parsers/vitest_parser.h"

#include <string>
#include <vector>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/js_reports.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_rule(std::string_view line) {
  return trim(line).starts_with("⎯⎯⎯");
}

// "⎯⎯⎯ Failed Tests 4 ⎯⎯⎯" gives "Failed Tests 4"; the rule behind a failure gives its number.
std::string_view rule_title(std::string_view line) {
  auto text = trim(line);
  constexpr std::string_view kRule = "⎯";
  while (take_prefix(text, kRule)) {
  }
  while (text.ends_with(kRule))
    text.remove_suffix(kRule.size());
  return trim(text);
}

// " FAIL  a.test.ts > math > adds wrong"
std::string_view failed_name(std::string_view line) {
  auto text = trim_left(line);
  if (!take_prefix(text, "FAIL  ") && !take_prefix(text, "❯ FAIL ")) return {};
  return trim(text);
}

std::string_view sum_of(std::string_view line, std::string_view label) {
  auto text = trim_left(line);
  if (!line.starts_with(' ') || !take_prefix(text, label) || !text.starts_with("  ")) return {};
  return trim(text);
}

bool is_vitest_line(std::string_view line) {
  const auto text = trim_left(line);
  return !sum_of(line, "Test Files").empty() || text.starts_with("RUN  v") ||
         text.starts_with("DEV  v") || (is_rule(line) && rule_title(line).starts_with("Failed "));
}

bool recognises_vitest(const ParserInput& input) {
  return input.command.has("vitest") || has_line(input.lines, is_vitest_line);
}

class VitestScan {
 public:
  explicit VitestScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_failure();
  bool take_unhandled();
  bool take_sum();
  bool take_printed();
  bool take_progress();
  Lines take_body();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
};

Lines VitestScan::take_body() {
  const auto start = cursor_.position();
  while (!cursor_.done() && !is_rule(cursor_.line()) && failed_name(cursor_.line()).empty() &&
         sum_of(cursor_.line(), "Test Files").empty())
    cursor_.advance();
  return input_.lines.subspan(start, cursor_.position() - start);
}

// Takes a failure. Tests that failed with the same error stand above it together.
bool VitestScan::take_failure() {
  std::vector<std::string_view> names;
  for (auto name = failed_name(cursor_.line()); !name.empty(); name = failed_name(cursor_.line())) {
    names.push_back(name);
    cursor_.advance();
  }
  if (names.empty()) return false;
  auto failure = make_failure(names.back());
  describe_js_error(take_body(), ledger_, failure);
  for (std::size_t at = 0; at + 1 < names.size(); ++at) {
    auto twin = make_failure(names[at]);
    twin.where = failure.where;
    twin.detail.emplace_back("as below");
    ledger_.add(std::move(twin));
  }
  if (failure.where.file.empty())
    failure.where.file = names.back().substr(0, names.back().find(' '));
  ledger_.add(std::move(failure));
  return true;
}

// "⎯⎯ Unhandled Rejection ⎯⎯" and "⎯⎯ Uncaught Exception ⎯⎯": no test's, and a failure all the
// same.
bool VitestScan::take_unhandled() {
  if (!is_rule(cursor_.line())) return false;
  ledger_.account(cursor_.line());
  const auto title = rule_title(cursor_.line());
  cursor_.advance();
  const bool is_error = (title.starts_with("Unhandled ") || title.starts_with("Uncaught ")) &&
                        title != "Unhandled Errors";
  if (!is_error) {
    if (!title.empty()) ledger_.omit("progress lines");
    return true;
  }
  auto failure = make_failure(title, "ERROR");
  describe_js_error(take_body(), ledger_, failure);
  ledger_.add(std::move(failure));
  return true;
}

bool VitestScan::take_sum() {
  const auto line = cursor_.line();
  const auto files = sum_of(line, "Test Files");
  const auto tests = sum_of(line, "Tests");
  const auto errors = sum_of(line, "Errors");
  const auto snapshots = sum_of(line, "Snapshots");
  const bool is_time = !sum_of(line, "Start at").empty() || !sum_of(line, "Duration").empty();
  if (!files.empty()) add_js_totals(files, "files", ledger_);
  add_js_totals(tests, "", ledger_);
  add_js_totals(errors, "", ledger_);
  add_js_totals(snapshots, "snapshots", ledger_);
  for (const auto& total : counted_words(tests)) {
    if (total.word == "failed") ledger_.expect_failures(total.count);
  }
  if (files.empty() && tests.empty() && errors.empty() && snapshots.empty() && !is_time)
    return false;
  ledger_.account(line);
  cursor_.advance();
  return true;
}

// "stdout | a.test.ts > math > adds wrong", then what was printed, up to a blank line.
bool VitestScan::take_printed() {
  const auto line = cursor_.line();
  if (!line.starts_with("stdout | ") && !line.starts_with("stderr | ")) return false;
  cursor_.advance();
  while (!cursor_.done() && !is_blank(cursor_.line()))
    take_unknown(cursor_, ledger_);
  return true;
}

// " ✓ a.test.ts (2 tests) 4ms", "   × adds wrong 7ms", "   → expected 3 to be 4"
bool VitestScan::take_progress() {
  const auto text = trim_left(cursor_.line());
  const auto test = marked_test(cursor_.line());
  const bool is_file = text.starts_with("❯ ") && contains(text, " (");
  const bool is_other = text.starts_with("→ ") || text.starts_with("RUN  v") ||
                        text.starts_with("If this is a long-running test, pass a timeout value");
  if (test.mark == MarkedTest::Mark::None && !is_file && !is_other) return false;
  const bool is_failed_file = is_file && contains(text, " failed");
  if (is_failed_file)
    ledger_.keep(text);
  else
    account_for_test(cursor_.line(), test, ledger_);
  cursor_.advance();
  return true;
}

std::optional<Facts> VitestScan::parse() {
  while (!cursor_.done()) {
    if (is_vitest_line(cursor_.line())) ledger_.recognise();
    if (take_failure() || take_unhandled() || take_sum() || take_printed() || take_progress() ||
        take_coverage_row(cursor_, ledger_))
      continue;
    take_unknown(cursor_, ledger_);
  }
  return ledger_.settle("vitest", input_);
}

std::optional<Facts> parse_vitest(const ParserInput& input) {
  return VitestScan(input).parse();
}

}  // namespace

Parser vitest_parser() {
  return {.name = "vitest", .recognises = recognises_vitest, .parse = parse_vitest};
}

}  // namespace nutshell::compaction
