#include "compaction/parsers/go_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/goroutines.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// The parts of "--- FAIL: TestX/sub (0.00s)"; the state is empty for any other line.
struct TestEnd {
  std::string_view state;
  std::string_view name;
};

TestEnd test_end(std::string_view line) {
  auto text = trim_left(line);
  if (!take_prefix(text, "--- ")) return {};
  const auto state = take_until(text, ": ");
  if (!state || (*state != "FAIL" && *state != "PASS" && *state != "SKIP" && *state != "BENCH"))
    return {};
  const auto time = text.rfind(" (");
  return {*state, time == std::string_view::npos ? trim(text) : text.substr(0, time)};
}

std::optional<LocatedText> go_place(std::string_view line) {
  (void)take_prefix(line, "vet: ");  // go vet puts it before type errors
  auto located = split_location(line);
  if (!located || !located->where.file.ends_with(".go") || located->rest.empty())
    return std::nullopt;
  return located;
}

bool is_package_line(std::string_view line) {
  return line.starts_with("ok  \t") || line.starts_with("FAIL\t") || line.starts_with("?   \t") ||
         (line.starts_with("\t") && contains(line, "coverage: "));
}

bool is_go_line(std::string_view line) {
  return !test_end(line).state.empty() || is_package_line(line) || line.starts_with("=== RUN   ") ||
         line.starts_with("goroutine 1 [");
}

// Looks for the "# package" under which `go build` and `go vet` put their messages. Linters print
// messages of the same form without it, and their severities are their own.
bool has_messages(Lines lines) {
  constexpr std::size_t kLooked = 600;
  bool is_below_heading = false;
  for (const auto line : lines.first(std::min(lines.size(), kLooked))) {
    if (is_below_heading && !line.starts_with(' ') && go_place(line)) return true;
    is_below_heading = line.starts_with("# ");
  }
  return false;
}

bool recognises_go(const ParserInput& input) {
  if (input.command.starts_with({"go", "tool"})) return false;
  return input.command.starts_with({"go"}) || has_line(input.lines, is_go_line) ||
         has_messages(input.lines);
}

class GoScan {
 public:
  explicit GoScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_start();
  bool take_end();
  bool take_package();
  bool take_panic();
  bool take_race();
  bool take_diagnostic();
  bool take_chatter();
  bool take_benchmark();
  bool take_test_output();
  void take_goroutines(Diagnostic& panic);
  void settle_passed(const TestEnd& end);
  void settle_unfinished();
  void close_package(std::string_view package);
  void tidy_failures();
  void add_failure(std::string_view name);

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  bool is_run_ = input_.command.starts_with({"go", "run"});
  std::string current_;  // the test whose output follows, with -v
  std::map<std::string, std::vector<std::string_view>, std::less<>> printed_;  // by test, with -v
  std::unordered_set<std::string_view> platform_;  // "goos: linux" and its like, said once
  std::size_t package_start_ = 0;           // first failure of the package that is being read
  std::vector<std::string_view> packages_;  // of the failures, as far as they are known
  std::size_t failed_packages_ = 0;
  bool is_in_failure_ = false;  // lines below "--- FAIL" belong to it
};

// "=== RUN   TestX", "=== CONT  TestX", "=== NAME  TestX", "=== PAUSE TestX"
bool GoScan::take_start() {
  auto text = cursor_.line();
  if (!take_prefix(text, "=== ")) return false;
  const auto word = take_word(text);
  if (word != "RUN" && word != "CONT" && word != "NAME" && word != "PAUSE") return false;
  current_ = word == "PAUSE" ? std::string_view{} : trim(text);
  is_in_failure_ = false;
  ledger_.omit("progress lines");
  cursor_.advance();
  return true;
}

void GoScan::add_failure(std::string_view name) {
  auto failure = make_failure(name);
  const auto printed = printed_.find(name);
  if (printed != printed_.end()) {
    failure.detail = condensed(printed->second, ledger_);
    printed_.erase(printed);
  }
  for (auto& line : failure.detail) {
    line = std::string(trim_left(line));
    const auto place = go_place(line);
    if (place && failure.where.file.empty()) failure.where = place->where;
  }
  ledger_.add(std::move(failure));
}

// Shows what a test printed that passed or was skipped, such as why it was skipped, if it is
// little.
void GoScan::settle_passed(const TestEnd& end) {
  const bool is_skip = end.state == "SKIP";
  ledger_.add_total(is_skip ? "skipped" : "passed", 1);
  const auto printed = printed_.find(end.name);
  if (printed == printed_.end() && is_skip)
    ledger_.set_aside_as("skipped tests", fmt::format("SKIP {}", end.name));
  if (!is_skip) ledger_.omit("passing tests");
  if (printed == printed_.end()) return;
  for (const auto line : printed->second)
    ledger_.set_aside_as(is_skip ? "skipped tests" : "output of passing tests",
                         fmt::format("{}{}: {}", is_skip ? "SKIP " : "", end.name, trim(line)));
  printed_.erase(printed);
}

bool GoScan::take_end() {
  const auto end = test_end(cursor_.line());
  if (end.state.empty()) return false;
  current_.clear();
  is_in_failure_ = end.state == "FAIL";
  if (end.state == "FAIL") {
    add_failure(end.name);
    ledger_.omit_line("test times", cursor_.line());
    ledger_.add_total("failed", 1);
  } else if (end.state == "BENCH") {
    ledger_.keep(cursor_.line());  // the lines below it are the benchmark's log
  } else {
    settle_passed(end);
  }
  cursor_.advance();
  return true;
}

// "BenchmarkSum-2   14721687   88.56 ns/op", and ahead of a package's benchmarks "goos: linux",
// "goarch: amd64", "pkg: x" and "cpu: y". With -v the name stands alone on a line before.
bool GoScan::take_benchmark() {
  const auto line = cursor_.line();
  constexpr std::array<std::string_view, 4> kPlatform = {"goos: ", "goarch: ", "cpu: ", "pkg: "};
  const bool is_platform =
      std::ranges::any_of(kPlatform, [&](auto start) { return line.starts_with(start); });
  const bool is_row = line.starts_with("Benchmark") && contains(line, "/op");
  const bool is_name = line.starts_with("Benchmark") && !contains(line, " ") &&
                       !contains(line, "\t") && cursor_.peek(1).starts_with(line);
  if (!is_platform && !is_row && !is_name) return false;
  if (is_row || is_name) current_.clear();
  const bool is_new = is_platform && platform_.insert(line).second;
  if (is_row || is_new)
    ledger_.keep(fmt::format("{}", fmt::join(split_words(line), " ")));  // without its columns
  else
    ledger_.omit("progress lines");
  cursor_.advance();
  return true;
}

// Ends a package. A test is known by its name and package, and the package is printed last.
void GoScan::close_package(std::string_view package) {
  package_start_ = ledger_.facts().failures.size();
  packages_.resize(package_start_, package);
}

// "ok  \tdemo\t0.003s", "FAIL\tdemo\t0.009s", "FAIL\tdemo [build failed]"
bool GoScan::take_package() {
  auto text = cursor_.line();
  if (!is_package_line(text)) return false;
  is_in_failure_ = false;
  ledger_.account(cursor_.line());
  if (take_prefix(text, "FAIL\t")) {
    ++failed_packages_;
    const auto tab = text.find('\t');
    const bool has_tests = package_start_ < ledger_.facts().failures.size();
    if (has_tests) {
      close_package(text.substr(0, tab));
    } else {
      ledger_.add(make_failure(text.substr(0, tab)));
      close_package({});
    }
    ledger_.add_total("packages failed", 1);
  } else if (text.starts_with("ok  \t")) {
    ledger_.add_total("packages ok", 1);
    const auto coverage = text.find("coverage: ");
    if (coverage != std::string_view::npos)
      ledger_.keep(text.substr(5));
    else
      ledger_.omit("packages that passed");
  } else if (contains(text, "coverage: ")) {
    ledger_.keep(trim(text));
  } else {
    ledger_.omit("packages without tests");
  }
  cursor_.advance();
  return true;
}

// Ends a dump of goroutines: what the test runner prints behind it.
bool ends_dump(std::string_view line) {
  return is_package_line(line) || line.starts_with("FAIL") || line.starts_with("exit status ") ||
         !test_end(line).state.empty();
}

void GoScan::take_goroutines(Diagnostic& panic) {
  const auto start = cursor_.position();
  while (!cursor_.done() && !ends_dump(cursor_.line()))
    cursor_.advance();
  const auto dump = read_goroutines(input_.lines.subspan(start, cursor_.position() - start));
  panic.where = dump.where;
  panic.detail.insert(panic.detail.end(), dump.lines.begin(), dump.lines.end());
  ledger_.omit("stack frames", dump.frames_left_out);
}

bool GoScan::take_panic() {
  const auto line = cursor_.line();
  const bool is_panic = line.starts_with("panic: ") || line.starts_with("fatal error: ");
  if (!is_panic) return false;
  auto panic = make_diagnostic(Severity::Error, {}, line);
  cursor_.advance();
  bool is_list = false;
  for (; !cursor_.done() && !cursor_.line().starts_with("goroutine "); cursor_.advance()) {
    const auto text = trim(cursor_.line());
    if (text.empty()) continue;
    if (text.starts_with("exit status ") || is_package_line(cursor_.line())) break;
    // A timeout names the tests that were running.
    if (is_list)
      ledger_.add(make_failure(text.substr(0, text.rfind(" (")), "TIMEOUT"));
    else if (text != "running tests:")
      panic.detail.emplace_back(text);
    is_list = is_list || text == "running tests:";
  }
  take_goroutines(panic);
  auto& failures = ledger_.facts().failures;
  const bool is_tests = package_start_ < failures.size() && failures.back().where.file.empty();
  if (!is_tests) {
    (void)ledger_.add(std::move(panic));
    return true;
  }
  failures.back().where = panic.where;
  failures.back().detail.push_back(std::move(panic.message));
  for (auto& detail : panic.detail)
    failures.back().detail.push_back(std::move(detail));
  return true;
}

// "WARNING: DATA RACE" between two lines of "==================".
bool GoScan::take_race() {
  if (cursor_.line() != "WARNING: DATA RACE") return false;
  auto race = make_diagnostic(Severity::Unstated, {}, cursor_.line());
  cursor_.advance();
  std::string_view function;  // named on the line above its place
  for (; !cursor_.done() && !cursor_.line().starts_with("======"); cursor_.advance()) {
    const auto line = cursor_.line();
    const auto frame = go_frame("\t" + std::string(trim(line)));
    if (frame && frame->is_users) {
      if (race.where.file.empty()) race.where = frame->where;
      race.detail.push_back(fmt::format("{} {}", function, to_text(frame->where)));
    } else if (frame) {
      ledger_.omit("stack frames");
    } else if (line.ends_with(':')) {
      race.detail.emplace_back(trim(line));
    } else {
      function = trim(line);
    }
  }
  (void)ledger_.add(std::move(race));
  return true;
}

// "./main.go:3:15: declared and not used: x", with lines below that are indented by a tab.
bool GoScan::take_diagnostic() {
  const auto line = cursor_.line();
  if (line.starts_with(' ') || line.starts_with('\t')) return false;
  if (line.ends_with('%') && contains(line, ":\t")) {  // `go tool cover -func`: no message
    ledger_.keep(line);
    cursor_.advance();
    return true;
  }
  auto place = go_place(line);
  if (!place) return false;
  auto diagnostic = make_diagnostic(Severity::Error, place->where, place->rest);
  cursor_.advance();
  for (; cursor_.line().starts_with('\t') && !go_frame(cursor_.line()); cursor_.advance())
    diagnostic.detail.emplace_back(trim(cursor_.line()));
  (void)ledger_.add(std::move(diagnostic));
  return true;
}

bool GoScan::take_chatter() {
  const auto line = cursor_.line();
  const bool is_heading =
      line.starts_with("# ") && (go_place(cursor_.peek(1)) || cursor_.peek(1).starts_with("# "));
  const bool is_status = line.starts_with("exit status ") && !is_run_;
  const bool is_chatter = is_heading || line == "FAIL" || line == "PASS" || is_status ||
                          line.starts_with("go: downloading ") || line.starts_with("======");
  if (!is_chatter) return false;
  is_in_failure_ = false;
  ledger_.omit("progress lines");
  cursor_.advance();
  return true;
}

bool GoScan::take_test_output() {
  const auto line = cursor_.line();
  if (is_blank(line)) return false;
  if (!current_.empty()) {
    printed_[current_].push_back(line);
    cursor_.advance();
    return true;
  }
  auto& failures = ledger_.facts().failures;
  if (!is_in_failure_ || failures.empty()) return false;
  auto& failure = failures.back();
  const bool is_example = failure.name.starts_with("Example");
  if (!line.starts_with(' ') && !line.starts_with('\t') && !is_example) return false;
  const auto text = trim_left(line);
  const auto place = go_place(text);
  if (place && failure.where.file.empty()) failure.where = place->where;
  failure.detail.emplace_back(text);
  cursor_.advance();
  return true;
}

// Removes the failure's own place from the lines below it. Adds its package if several failed.
void GoScan::tidy_failures() {
  auto& failures = ledger_.facts().failures;
  for (std::size_t at = 0; at < failures.size(); ++at) {
    const auto place = to_text(failures[at].where) + ": ";
    for (auto& line : failures[at].detail) {
      if (line.starts_with(place)) line.erase(0, place.size());
    }
    const bool is_said = failed_packages_ > 1 && at < packages_.size() && !packages_[at].empty();
    if (is_said)
      failures[at].detail.insert(failures[at].detail.begin(), "in " + std::string(packages_[at]));
  }
}

// Shows what tests printed that never ended: a crash ends none.
void GoScan::settle_unfinished() {
  for (const auto& [name, lines] : printed_) {
    for (const auto& line : condensed(lines, ledger_)) {
      const auto text = fmt::format("{}: {}", name, line);
      if (has_failed(input_.ending))
        ledger_.keep(text);
      else
        ledger_.set_aside_as("output of passing tests", text);
    }
  }
}

std::optional<Facts> GoScan::parse() {
  constexpr std::size_t kMostProgramLines = 100;
  while (!cursor_.done()) {
    if (is_go_line(cursor_.line())) ledger_.recognise();
    if (take_start() || take_end() || take_package() || take_panic() || take_race() ||
        take_chatter() || take_benchmark() || take_test_output() || take_diagnostic())
      continue;
    if (is_run_ && !is_blank(cursor_.line())) {
      ledger_.keep(cursor_.line());
      cursor_.advance();
    } else {
      take_unknown(cursor_, ledger_);
    }
  }
  settle_unfinished();
  tidy_failures();
  if (!ledger_.facts().diagnostics.empty()) ledger_.recognise();
  if (is_run_ && ledger_.facts().kept.size() > kMostProgramLines) return std::nullopt;
  ledger_.count_diagnostics();
  std::string tool = "go";
  const auto& words = input_.command.words;
  if (words.size() > 1 && words[0] == "go" && !words[1].starts_with('-')) tool += " " + words[1];
  return ledger_.settle(tool, input_);
}

std::optional<Facts> parse_go(const ParserInput& input) {
  return GoScan(input).parse();
}

}  // namespace

Parser go_parser() {
  return {.name = "go", .recognises = recognises_go, .parse = parse_go};
}

}  // namespace nutshell::compaction
