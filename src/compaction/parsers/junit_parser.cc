#include "compaction/parsers/junit_parser.h"

#include <array>
#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/java_diagnostics.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/text_scan.h"

namespace nutshell::compaction {
namespace {

// "[         4 tests failed          ]"
std::optional<Total> sum_of(std::string_view line) {
  if (!line.starts_with("[  ") || !line.ends_with(" ]")) return std::nullopt;
  auto text = trim(line.substr(1, line.size() - 2));
  const auto count = take_number(text);
  const auto word = trim(text);
  if (!count || !(word.starts_with("tests ") || word.starts_with("containers ")))
    return std::nullopt;
  return Total{std::string(word), *count};
}

bool is_junit_line(std::string_view line) {
  return sum_of(line).has_value() || line.starts_with("JUnit version ") ||
         line.starts_with("Thanks for using JUnit!");
}

bool recognises(const ParserInput& input) {
  return has_line(input.lines, is_junit_line);
}

bool is_tree(std::string_view line) {
  constexpr std::array<std::string_view, 8> kStarts = {"╷",    "├",    "│",   "└",
                                                       "+-- ", "'-- ", "|  ", "."};
  for (const auto start : kStarts) {
    if (line.starts_with(start) && (start != "." || line == ".")) return true;
  }
  return false;
}

class JunitScan {
 public:
  explicit JunitScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_failures();
  bool take_old_failure();
  bool take_sum();
  bool take_old_sum();
  bool take_chatter();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::uint64_t next_ = 1;  // number of JUnit 4's next failure
};

// "MethodSource [className = 'x.CalcTest', methodName = 'par', …]" as "x.CalcTest.par"
std::string source_of(std::string_view line) {
  std::string source;
  for (const std::string_view key : {"className = '", "methodName = '"}) {
    auto rest = line;
    if (!take_until(rest, key)) continue;
    const auto value = take_until(rest, "'");
    if (!value) continue;
    if (!source.empty()) source += '.';
    source += *value;
  }
  return source;
}

// "Failures (5):", then names two columns in and errors four columns in.
bool JunitScan::take_failures() {
  if (!cursor_.line().starts_with("Failures (")) return false;
  cursor_.advance();
  while (cursor_.line().starts_with("  ") && !cursor_.line().starts_with("   ")) {
    auto failure = make_failure(trim(cursor_.line()));
    cursor_.advance();
    if (trim(cursor_.line()).starts_with("MethodSource [") ||
        trim(cursor_.line()).starts_with("ClassSource [")) {
      failure.detail.push_back(source_of(cursor_.line()));
      cursor_.advance();
    }
    const auto start = cursor_.position();
    while (!cursor_.done() && !sum_of(cursor_.line()) &&
           (!cursor_.line().starts_with("  ") || cursor_.line().starts_with("    ")) &&
           !cursor_.line().starts_with("Test run finished "))
      cursor_.advance();
    describe_java_error(input_.lines.subspan(start, cursor_.position() - start), ledger_, failure);
    ledger_.add(std::move(failure));
  }
  return true;
}

// JUnit 4: "1) bad(ATest)" and its exception
bool JunitScan::take_old_failure() {
  auto text = cursor_.line();
  const auto number = take_number(text);
  if (!number || *number != next_ || !take_prefix(text, ") ")) return false;
  ++next_;
  auto failure = make_failure(trim(text));
  cursor_.advance();
  const auto start = cursor_.position();
  for (; !cursor_.done(); cursor_.advance()) {
    auto line = cursor_.line();
    const auto found = take_number(line);
    if ((found && *found == next_ && line.starts_with(") ")) || line.starts_with("FAILURES!!!"))
      break;
  }
  describe_java_error(input_.lines.subspan(start, cursor_.position() - start), ledger_, failure);
  ledger_.add(std::move(failure));
  return true;
}

bool JunitScan::take_sum() {
  const auto sum = sum_of(cursor_.line());
  if (!sum) return false;
  const bool is_failed = sum->word.ends_with(" failed");
  if (sum->count > 0 || sum->word == "tests failed") ledger_.add_total(sum->word, sum->count);
  if (is_failed) ledger_.expect_failures(sum->count);
  cursor_.advance();
  return true;
}

// "Tests run: 3,  Failures: 2" and "OK (3 tests)"
bool JunitScan::take_old_sum() {
  auto text = cursor_.line();
  if (take_prefix(text, "OK (")) {
    ledger_.add_total("tests", take_number(text).value_or(0));
  } else if (take_prefix(text, "Tests run: ")) {
    ledger_.add_total("tests", take_number(text).value_or(0));
    if (take_until(text, "Failures: ")) {
      const auto failures = take_number(text).value_or(0);
      ledger_.add_total("failures", failures);
      ledger_.expect_failures(failures);
    }
  } else {
    return false;
  }
  cursor_.advance();
  return true;
}

bool JunitScan::take_chatter() {
  const auto line = cursor_.line();
  const bool is_chatter =
      is_tree(line) || line.starts_with("Thanks for using JUnit!") ||
      line.starts_with("Test run finished after ") || line.starts_with("JUnit version ") ||
      line.starts_with("Time: ") || line.starts_with("FAILURES!!!") ||
      line.starts_with("Test plan execution ") ||
      (line.starts_with("There w") && contains(line, " failure")) ||
      (!line.empty() && line.find_first_not_of(".EI") == std::string_view::npos);
  if (!is_chatter) return false;
  ledger_.omit("progress lines");
  cursor_.advance();
  return true;
}

std::optional<Facts> JunitScan::parse() {
  while (!cursor_.done()) {
    if (is_junit_line(cursor_.line())) ledger_.recognise();
    if (take_failures() || take_old_failure() || take_sum() || take_old_sum() || take_chatter())
      continue;
    take_unknown(cursor_, ledger_);
  }
  return ledger_.settle("junit", input_.ending);
}

std::optional<Facts> parse(const ParserInput& input) {
  return JunitScan(input).parse();
}

}  // namespace

Parser junit_parser() {
  return {.name = "junit", .recognises = recognises, .parse = parse};
}

}  // namespace nutshell::compaction
