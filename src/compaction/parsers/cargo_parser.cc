#include "compaction/parsers/cargo_parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/rust_diagnostics.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "   Compiling demo v0.1.0 (/src)": a verb at the right of twelve columns.
bool is_progress(std::string_view line) {
  if (!line.starts_with(' ') || indent_of(line) > 11) return false;
  auto rest = line;
  const auto verb = take_word(rest);
  constexpr std::array<std::string_view, 21> kVerbs = {
      "Compiling",  "Checking", "Finished",   "Running",  "Doc-tests", "Downloading", "Downloaded",
      "Updating",   "Locking",  "Fresh",      "Blocking", "Adding",    "Documenting", "Building",
      "Installing", "Dirty",    "Executable", "Removing", "Fixed",     "Generated",   "Scraping"};
  return indent_of(line) + verb.size() == 12 && std::ranges::find(kVerbs, verb) != kVerbs.end();
}

// Returns whether a line says what a run made or changed: "Generated
// /src/target/doc/app/index.html", "Adding itoa v1.0.11", "Updating serde v1.0.1 -> v1.0.2",
// "Executable unittests src/lib.rs (target/debug/deps/app-1)".
bool is_product(std::string_view line) {
  auto rest = line;
  const auto verb = take_word(rest);
  if (verb == "Updating" || verb == "Downgrading") return contains(rest, " -> ");
  constexpr std::array<std::string_view, 5> kVerbs = {"Generated", "Executable", "Adding",
                                                      "Removing", "Fixed"};
  return std::ranges::find(kVerbs, verb) != kVerbs.end();
}

bool is_cargo_line(std::string_view line) {
  return is_progress(line) || line.starts_with("test result: ") ||
         line.starts_with("error: could not compile `") ||
         (line.starts_with("running ") && (line.ends_with(" tests") || line == "running 1 test")) ||
         (line.starts_with("error[E") && contains(line, "]: "));
}

bool recognises_cargo(const ParserInput& input) {
  return input.command.starts_with({"cargo"}) || input.command.starts_with({"rustc"}) ||
         has_line(input.lines, is_cargo_line);
}

class CargoScan {
 public:
  explicit CargoScan(const ParserInput& input)
      : input_(input), cursor_(input.lines), is_run_(input.command.has("run")) {}

  std::optional<Facts> parse();

 private:
  bool take_test_line();
  bool take_test_output();
  bool take_failure_list();
  bool take_successes();
  bool take_result();
  bool take_panic();
  bool take_hint();
  void take_other();
  void note_crate(std::string_view line);
  void list_crates();
  Failure& failure_named(std::string_view name);
  void attach(Failure& failure, RustPanic panic);

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  bool is_run_;
  std::unordered_set<std::string> crates_;
  std::vector<std::string> crate_list_;
  // Indexes of failures of this test program; the next one may use the same names.
  std::unordered_map<std::string, std::size_t> known_;
  // All failures by name, for panics that went to standard error, which comes behind.
  std::unordered_map<std::string, std::size_t> unplaced_;
};

std::string_view without_kind(std::string_view name) {
  for (const std::string_view kind : {" - should panic", " - compile fail", " - compile"}) {
    if (name.ends_with(kind)) name.remove_suffix(kind.size());
  }
  return name;
}

Failure& CargoScan::failure_named(std::string_view name) {
  auto& failures = ledger_.facts().failures;
  const auto [found, is_new] = known_.emplace(name, failures.size());
  if (is_new) ledger_.add(make_failure(name));
  return failures[found->second];
}

// "test tests::bad ... FAILED", and "tests::bad --- FAILED" with -q
bool CargoScan::take_test_line() {
  auto text = cursor_.line();
  const bool is_failed_quietly = text.ends_with(" --- FAILED");
  if (is_failed_quietly) {
    text.remove_suffix(11);
    (void)failure_named(without_kind(text));
    cursor_.advance();
    return true;
  }
  if (!take_prefix(text, "test ")) return false;
  const auto dots = text.rfind(" ... ");
  if (dots == std::string_view::npos) return false;
  const auto state = text.substr(dots + 5);
  const auto name = without_kind(text.substr(0, dots));
  if (state.starts_with("FAILED"))
    (void)failure_named(name);
  else if (state.starts_with("ok"))
    ledger_.omit("passing tests");
  else if (state.starts_with("ignored"))
    ledger_.set_aside_as("ignored tests", std::string(cursor_.line()));
  else if (state.starts_with("bench:"))
    ledger_.keep(cursor_.line());
  else
    return false;
  cursor_.advance();
  return true;
}

void CargoScan::attach(Failure& failure, RustPanic panic) {
  if (failure.where.file.empty())
    failure.where = panic.where;
  else
    failure.detail.push_back("panicked at " + to_text(panic.where));
  for (auto& line : panic.message)
    failure.detail.push_back(std::move(line));
}

// "---- tests::bad stdout ----", then what the test printed, its panic among it.
bool CargoScan::take_test_output() {
  auto text = cursor_.line();
  if (!take_prefix(text, "---- ") || !text.ends_with(" ----")) return false;
  text.remove_suffix(5);
  for (const std::string_view stream : {" stdout", " stderr"}) {
    if (text.ends_with(stream)) text.remove_suffix(stream.size());
  }
  auto& failure = failure_named(without_kind(text));
  cursor_.advance();
  std::vector<std::string_view> printed;
  while (!cursor_.done()) {
    const auto line = cursor_.line();
    if (line.starts_with("---- ") || line == "failures:" || line == "successes:") break;
    if (auto panic = take_rust_panic(cursor_, ledger_)) {
      attach(failure, std::move(*panic));
      continue;
    }
    if (!is_blank(line)) printed.push_back(line);
    cursor_.advance();
  }
  for (auto& line : condensed(printed, ledger_))
    failure.detail.push_back(std::move(line));
  return true;
}

// "successes:", with --show-output: what passing tests printed, and their names.
bool CargoScan::take_successes() {
  if (cursor_.line() != "successes:") return false;
  cursor_.advance();
  for (; !cursor_.done(); cursor_.advance()) {
    const auto line = cursor_.line();
    if (line == "failures:" || line.starts_with("test result: ")) break;
    if (line.starts_with("    "))
      ledger_.omit("summary lines");
    else if (!is_blank(line) && line != "successes:")
      ledger_.set_aside_as("output of passing tests", std::string(line));
  }
  return true;
}

// "failures:" and the names below it, four columns in.
bool CargoScan::take_failure_list() {
  if (cursor_.line() != "failures:") return false;
  ledger_.account(cursor_.line());
  cursor_.advance();
  while (!cursor_.done() && is_blank(cursor_.line()))
    cursor_.advance();
  for (; cursor_.line().starts_with("    "); cursor_.advance())
    (void)failure_named(without_kind(trim(cursor_.line())));
  return true;
}

// "test result: FAILED. 1 passed; 7 failed; 1 ignored; 0 measured; 0 filtered out; finished in …"
bool CargoScan::take_result() {
  auto text = cursor_.line();
  if (!take_prefix(text, "test result: ")) return false;
  const auto end = text.find("; finished in");
  for (const auto& total : counted_words(text.substr(0, end))) {
    if (total.count > 0 || total.word == "passed") ledger_.add_total(total.word, total.count);
    if (total.word == "failed") ledger_.expect_failures(total.count);
  }
  known_.clear();
  ledger_.account(cursor_.line());
  cursor_.advance();
  return true;
}

// Takes a panic outside a test's own output: of a program that was run, or printed at once.
bool CargoScan::take_panic() {
  auto panic = take_rust_panic(cursor_, ledger_);
  if (!panic) return false;
  if (unplaced_.empty()) {
    for (std::size_t at = 0; at < ledger_.facts().failures.size(); ++at)
      unplaced_.emplace(ledger_.facts().failures[at].name, at);
  }
  const auto found = unplaced_.find(panic->thread);
  if (found != unplaced_.end()) {
    attach(ledger_.facts().failures[found->second], std::move(*panic));
    return true;
  }
  auto diagnostic =
      make_diagnostic(Severity::Error, panic->where, "thread '" + panic->thread + "' panicked");
  diagnostic.detail = std::move(panic->message);
  (void)ledger_.add(std::move(diagnostic));
  return true;
}

// Takes lines that cargo and rustc print in every run: progress, advice and sums.
bool CargoScan::take_hint() {
  const auto line = cursor_.line();
  const bool is_hint = line.starts_with("Some errors have detailed explanations:") ||
                       line.starts_with("For more information about ") ||
                       line.starts_with("note: run with `RUST_BACKTRACE") ||
                       (line.starts_with("warning: `") && contains(line, " generated ")) ||
                       line.starts_with("warning: build failed, waiting for other jobs");
  if (is_hint) ledger_.omit_line("summary lines", line);
  const bool is_tests = line.starts_with("running ") && contains(line, " test");
  const bool is_made = is_progress(line) && is_product(line);
  if (is_made)
    ledger_.keep(trim(line));
  else if (is_tests || is_progress(line))
    ledger_.omit("progress lines");
  if (is_progress(line)) note_crate(line);
  const bool is_end = line.starts_with("error: could not compile ") ||
                      line.starts_with("error: aborting due to ") ||
                      line.starts_with("error: test failed, to rerun ") ||
                      line.starts_with("error: doctest failed, to rerun ");
  if (is_end) ledger_.keep(line);
  if (!is_hint && !is_tests && !is_progress(line) && !is_end) return false;
  cursor_.advance();
  return true;
}

// Notes name and version of a crate that is not the user's own: "   Compiling itoa v1.0.11".
void CargoScan::note_crate(std::string_view line) {
  auto rest = line;
  (void)take_word(rest);  // the verb
  const auto name = take_word(rest);
  const auto version = take_word(rest);
  const bool is_version = version.size() > 1 && version.front() == 'v' && is_digit(version[1]);
  if (!is_version || rest.starts_with("(/")) return;
  auto crate = std::string(name) + " " + std::string(version);
  if (crates_.insert(crate).second) crate_list_.push_back(std::move(crate));
}

void CargoScan::list_crates() {
  constexpr std::size_t kPerLine = 12;
  for (std::size_t at = 0; at < crate_list_.size(); at += kPerLine) {
    std::string line = "crates:";
    for (std::size_t each = at; each < std::min(at + kPerLine, crate_list_.size()); ++each)
      line.append(each == at ? " " : ", ").append(crate_list_[each]);
    ledger_.keep(line);
  }
}

// Keeps what a program printed that `cargo run` ran.
void CargoScan::take_other() {
  if (!is_run_ || is_blank(cursor_.line())) {
    take_unknown(cursor_, ledger_);
    return;
  }
  ledger_.keep(cursor_.line());
  cursor_.advance();
}

std::optional<Facts> CargoScan::parse() {
  constexpr std::size_t kMostProgramLines = 100;
  while (!cursor_.done()) {
    if (is_cargo_line(cursor_.line())) ledger_.recognise();
    if (take_hint() || take_test_line() || take_successes() || take_test_output() ||
        take_failure_list() || take_result() || take_panic() ||
        take_rust_diagnostic(cursor_, ledger_))
      continue;
    take_other();
  }
  list_crates();
  if (is_run_ && ledger_.facts().kept.size() > kMostProgramLines) return std::nullopt;
  if (!ledger_.facts().diagnostics.empty()) ledger_.recognise();
  ledger_.count_diagnostics();
  std::string tool = "cargo";
  const auto& words = input_.command.words;
  if (words.size() > 1 && words[0] == "cargo" && !words[1].starts_with('-')) tool += " " + words[1];
  return ledger_.settle(tool, input_);
}

std::optional<Facts> parse_cargo(const ParserInput& input) {
  return CargoScan(input).parse();
}

}  // namespace

Parser cargo_parser() {
  return {.name = "cargo", .recognises = recognises_cargo, .parse = parse_cargo};
}

}  // namespace nutshell::compaction
