#include "compaction/parsers/junit_parser.h"

#include <algorithm>
#include <array>
#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/java_diagnostics.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

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

bool recognises_junit(const ParserInput& input) {
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

// Returns an entry of the tree without its branches: "skipA() [S] needs a printer".
std::string entry_of(std::string_view line) {
  for (const std::string_view branch : {"─ ", "-- "}) {
    const auto at = line.find(branch);
    if (at != std::string_view::npos) return std::string(line.substr(at + branch.size()));
  }
  return std::string(trim(line));
}

class JunitScan {
 public:
  explicit JunitScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_failures();
  bool take_flat();
  bool take_old_failure();
  bool take_sum();
  bool take_old_sum();
  bool take_chatter();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::uint64_t next_ = 1;    // number of JUnit 4's next failure
  std::uint64_t thrown_ = 0;  // exceptions of --details=flat
  std::uint64_t failed_ = 0;  // tests and containers, as summed up
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

// "Finished:    bad() ([engine:x]/[class:CalcTest]/[method:bad()])" of --details=flat: a word, a
// name and an id. Lines on a test stand below, as deep as the names.
struct FlatLine {
  std::string_view word;
  std::string_view name;
  std::string_view id;
};

constexpr std::size_t kFlatIndent = 13;

std::optional<FlatLine> flat_line(std::string_view line) {
  constexpr std::array<std::string_view, 5> kWords = {
      "Started:", "Finished:", "Skipped:", "Reported:", "Registered:"};
  const auto text = line;
  const auto word = take_word(line);
  const bool is_known = std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  const auto id = text.rfind(" ([");
  if (!is_known || !text.ends_with("])") || id == std::string_view::npos || id < kFlatIndent)
    return std::nullopt;
  return FlatLine{word, text.substr(kFlatIndent, id - kFlatIndent),
                  text.substr(id + 2, text.size() - id - 3)};
}

// "[engine:x]/[class:a.CalcTest]/[method:bad()]" as "a.CalcTest.bad()"; a name that was given to
// the test stands behind it.
std::string name_of(const FlatLine& flat) {
  std::string name;
  std::string_view last;
  for (auto part : split(flat.id, '/')) {
    if (part.starts_with("[engine:") || !part.starts_with('[') || !part.ends_with(']')) continue;
    part = part.substr(1, part.size() - 2);
    if (!take_until(part, ":")) continue;
    if (!name.empty()) name += '.';
    name += part;
    last = part;
  }
  if (name.empty()) return std::string(flat.name);
  return last == flat.name || name.ends_with(flat.name) ? name
                                                        : name + ":" + std::string(flat.name);
}

// Returns whether the test aborted itself, which is no failure.
bool is_abort(std::string_view exception) {
  return contains(exception.substr(0, exception.find(':')), "TestAbortedException") ||
         contains(exception.substr(0, exception.find(':')), "AssumptionViolatedException");
}

// An exception below makes it a failure; a reason why it was skipped is kept; the rest is progress.
bool JunitScan::take_flat() {
  const auto flat = flat_line(cursor_.line());
  if (!flat) return false;
  constexpr std::string_view kIndent = "             ";
  const auto first = cursor_.line();
  cursor_.advance();
  const auto start = cursor_.position();
  while (cursor_.line().starts_with(kIndent))
    cursor_.advance();
  const auto below = input_.lines.subspan(start, cursor_.position() - start);
  auto said = below.empty() ? std::string_view{} : trim(below.front());
  const bool has_thrown = take_prefix(said, "=> Exception: ");
  if (has_thrown && !is_abort(said)) {
    auto failure = make_failure(name_of(*flat));
    ++thrown_;
    failure.detail.emplace_back(said);
    describe_java_error(below.subspan(1), ledger_, failure);
    ledger_.add(std::move(failure));
    return true;
  }
  ledger_.omit_line("progress lines", first);
  if (!below.empty()) ledger_.keep(name_of(*flat));
  for (const auto line : below) {
    if (java_frame(line))
      ledger_.omit("stack frames");
    else
      ledger_.keep(line.substr(kFlatIndent - 2));
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
  if (is_failed) failed_ += sum->count;
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
      line.starts_with("Test plan execution ") || line.starts_with("Test execution started. ") ||
      line == "Test execution finished." ||
      (line.starts_with("There w") && contains(line, " failure")) ||
      (!line.empty() && line.find_first_not_of(".EI") == std::string_view::npos);
  if (!is_chatter) return false;
  const bool is_skipped =
      is_tree(line) && (contains(line, " [S]") || contains(line, "\xe2\x86\xb7"));
  if (is_skipped)
    ledger_.set_aside_as("skipped tests", entry_of(line));
  else
    ledger_.omit("progress lines");
  cursor_.advance();
  return true;
}

std::optional<Facts> JunitScan::parse() {
  while (!cursor_.done()) {
    if (is_junit_line(cursor_.line())) ledger_.recognise();
    if (take_failures() || take_flat() || take_old_failure() || take_sum() || take_old_sum() ||
        take_chatter())
      continue;
    take_unknown(cursor_, ledger_);
  }
  if (thrown_ > failed_) return std::nullopt;  // some of them are no failures
  return ledger_.settle("junit", input_);
}

std::optional<Facts> parse_junit(const ParserInput& input) {
  return JunitScan(input).parse();
}

}  // namespace

Parser junit_parser() {
  return {.name = "junit", .recognises = recognises_junit, .parse = parse_junit};
}

}  // namespace nutshell::compaction
