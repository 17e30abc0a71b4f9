#include "compaction/parsers/unittest_parser.h"

#include <array>
#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/parsers/tracebacks.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_double_rule(std::string_view line) {
  return line.size() >= 70 && line.find_first_not_of('=') == std::string_view::npos;
}

bool is_rule(std::string_view line) {
  return line.size() >= 70 && line.find_first_not_of('-') == std::string_view::npos;
}

// "Ran 8 tests in 0.007s"
bool is_count(std::string_view line) {
  return take_prefix(line, "Ran ") && take_number(line) && line.starts_with(" test") &&
         contains(line, " in ");
}

bool recognises_unittest(const ParserInput& input) {
  return (input.command.has("-m") && input.command.has("unittest")) ||
         has_line(input.lines, is_count);
}

struct Heading {
  std::string_view word;
  std::string_view name;
};

Heading heading_of(std::string_view line) {
  for (const std::string_view word : {"FAIL", "ERROR", "UNEXPECTED SUCCESS"}) {
    auto text = line;
    if (take_prefix(text, word) && take_prefix(text, ": ")) return {word, trim(text)};
  }
  return {};
}

class UnittestScan {
 public:
  explicit UnittestScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_failure();
  void take_body(Failure& failure);
  bool take_count();
  bool take_verdict();
  bool take_progress();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
};

// "======", "FAIL: test_f (ut.T.test_f)", perhaps the test's own words, "------", tracebacks
bool UnittestScan::take_failure() {
  if (!is_double_rule(cursor_.line())) return false;
  const auto heading = heading_of(cursor_.peek(1));
  if (heading.word.empty()) return false;
  cursor_.advance(2);
  auto failure = make_failure(heading.name, heading.word);
  while (!cursor_.done() && !is_rule(cursor_.line()) && !is_double_rule(cursor_.line())) {
    failure.detail.emplace_back(trim(cursor_.line()));
    cursor_.advance();
  }
  const bool is_end = is_count(cursor_.peek(1));
  if (is_rule(cursor_.line()) && !is_end) {
    cursor_.advance();
    take_body(failure);
  }
  ledger_.add(std::move(failure));
  return true;
}

// Takes a message up to the next rule; it may have blank lines.
void UnittestScan::take_body(Failure& failure) {
  while (!cursor_.done() && !is_double_rule(cursor_.line())) {
    const auto line = cursor_.line();
    if (is_rule(line) && is_count(cursor_.peek(1))) return;
    if (auto traceback = take_traceback(cursor_, ledger_)) {
      failure.where = traceback->where;
      for (auto& detail : traceback->detail)
        failure.detail.push_back(std::move(detail));
      failure.detail.push_back(std::move(traceback->message));
      continue;
    }
    const auto text = trim_right(line);
    const bool is_marks =
        text.starts_with("? ") && text.find_first_not_of("?^+-~ ") == std::string_view::npos;
    if (is_marks)
      ledger_.omit("code excerpts");
    else if (!text.empty())
      failure.detail.emplace_back(text);
    cursor_.advance();
  }
}

bool UnittestScan::take_count() {
  auto text = cursor_.line();
  if (!is_count(text) || !take_prefix(text, "Ran ")) return false;
  ledger_.add_total("tests", take_number(text).value_or(0));
  ledger_.recognise();
  cursor_.advance();
  return true;
}

// "FAILED (failures=2, errors=3, skipped=1)", "OK", "OK (skipped=1)"
bool UnittestScan::take_verdict() {
  auto text = cursor_.line();
  const bool is_failed = text.starts_with("FAILED (");
  if (!is_failed && text != "OK" && !text.starts_with("OK (") && !text.starts_with("NO TESTS RAN"))
    return false;
  if (text.starts_with("NO TESTS RAN")) ledger_.keep(text);
  if (take_until(text, "(") && text.ends_with(')')) {
    text.remove_suffix(1);
    for (auto part : split(text, ',')) {
      const auto word = take_until(part, "=");
      const auto count = word ? take_number(part) : std::nullopt;
      if (!count) continue;
      ledger_.add_total(trim(*word), *count);
      const bool is_listed = trim(*word) == "failures" || trim(*word) == "errors";
      if (is_listed) ledger_.expect_failures(*count);
    }
  }
  cursor_.advance();
  return true;
}

// "EEEF.sFux" and, with -v, "test_ok (ut.T.test_ok) ... ok"
bool UnittestScan::take_progress() {
  const auto line = cursor_.line();
  if (is_rule(line) || is_double_rule(line)) {
    cursor_.advance();
    return true;
  }
  const bool is_dots = !line.empty() && line.find_first_not_of(".EFsxu") == std::string_view::npos;
  constexpr std::array<std::string_view, 5> kBad = {
      " ... FAIL", " ... ERROR", " ... expected failure", " ... unexpected success", ") ... "};
  bool is_state = line.ends_with(" ... ok") || contains(line, " ... skipped ");
  for (const auto state : kBad)
    is_state = is_state || line.ends_with(state);
  const bool is_name =
      contains(line, " (") && line.ends_with(')') && contains(cursor_.peek(1), " ... ");
  if (!is_dots && !is_state && !is_name) return false;
  if (contains(line, " ... skipped "))
    ledger_.set_aside_as("skipped tests", std::string(line));
  else
    ledger_.omit(line.ends_with(" ... ok") ? "passing tests" : "progress lines");
  cursor_.advance();
  return true;
}

std::optional<Facts> UnittestScan::parse() {
  while (!cursor_.done()) {
    if (take_failure() || take_count() || take_verdict() || take_progress()) continue;
    take_unknown(cursor_, ledger_);
  }
  return ledger_.settle("unittest", input_);
}

std::optional<Facts> parse_unittest(const ParserInput& input) {
  return UnittestScan(input).parse();
}

}  // namespace

Parser unittest_parser() {
  return {.name = "unittest", .recognises = recognises_unittest, .parse = parse_unittest};
}

}  // namespace nutshell::compaction
