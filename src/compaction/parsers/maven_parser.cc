#include "compaction/parsers/maven_parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "compaction/error_words.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/java_diagnostics.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

enum class Level : std::uint8_t { None, Info, Warning, Error };

Level take_level(std::string_view& line) {
  for (const auto& [prefix, level] :
       {std::pair{"[INFO]", Level::Info}, std::pair{"[WARNING]", Level::Warning},
        std::pair{"[ERROR]", Level::Error}}) {
    if (!take_prefix(line, prefix)) continue;
    (void)take_prefix(line, " ");  // an empty line has none
    return level;
  }
  return Level::None;
}

bool is_maven_line(std::string_view line) {
  return line.starts_with("[INFO] Scanning for projects...") || line.starts_with("[INFO] BUILD ") ||
         line.starts_with("[ERROR] Failed to execute goal ") ||
         line.starts_with("[ERROR] COMPILATION ERROR") || contains(line, " <<< FAILURE!") ||
         contains(line, " <<< ERROR!");
}

bool recognises_maven(const ParserInput& input) {
  return input.command.starts_with({"mvn"}) || input.command.starts_with({"mvnw"}) ||
         has_line(input.lines, is_maven_line);
}

// "/src/Calc.java:[3,89] cannot find symbol"
std::optional<Diagnostic> compiler_message(std::string_view text, Level level) {
  const auto open = text.find(":[");
  if (open == std::string_view::npos || level == Level::Info) return std::nullopt;
  auto rest = text.substr(open + 2);
  const auto line = take_number(rest);
  if (!line || !take_prefix(rest, ",")) return std::nullopt;
  const auto column = take_number(rest);
  if (!column || !take_prefix(rest, "]")) return std::nullopt;
  Location where{std::string(text.substr(0, open)), static_cast<std::uint32_t>(*line),
                 static_cast<std::uint32_t>(*column)};
  return make_diagnostic(level == Level::Error ? Severity::Error : Severity::Warning,
                         std::move(where), trim(rest));
}

class MavenScan {
 public:
  explicit MavenScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_compiler(Level level, std::string_view text);
  bool take_failed_test(Level level, std::string_view text);
  bool take_tests_run(std::string_view text);
  bool take_list(Level level, std::string_view text);
  bool take_old_list(std::string_view title);
  void take_error(std::string_view text);
  void take_info(std::string_view text);
  void take_levelled(Level level, std::string_view text);

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::uint64_t expected_ = 0;
};

bool MavenScan::take_compiler(Level level, std::string_view text) {
  auto diagnostic = compiler_message(text, level);
  if (!diagnostic) return false;
  cursor_.advance();
  while (!cursor_.done()) {
    auto more = cursor_.line();
    const auto more_level = take_level(more);
    const bool goes_on =
        more.starts_with("  ") && (more_level == Level::None || more_level == level);
    if (!goes_on) break;
    diagnostic->detail.emplace_back(trim(more));
    cursor_.advance();
  }
  (void)ledger_.add(std::move(*diagnostic));  // the failed goal repeats them
  return true;
}

// "x.CalcTest.boom -- Time elapsed: 0.005 s <<< ERROR!", before surefire 3
// "boom(x.CalcTest)  Time elapsed: 0.005 s  <<< ERROR!"; then the exception
bool MavenScan::take_failed_test(Level level, std::string_view text) {
  const bool is_error = contains(text, " <<< ERROR!");
  const bool may_fail = level == Level::Error || level == Level::None;  // none before surefire 2.19
  if (!may_fail || (!is_error && !contains(text, " <<< FAILURE!"))) return false;
  if (text.starts_with("Tests run:")) return false;
  auto name = text.substr(0, text.find("Time elapsed:"));
  name = trim(name);
  if (name.ends_with("--")) name = trim(name.substr(0, name.size() - 2));
  auto failure = make_failure(name, is_error ? "ERROR" : "FAILURE");
  ledger_.account(text);
  cursor_.advance();
  const auto start = cursor_.position();
  while (!cursor_.done() && !is_blank(cursor_.line())) {
    auto line = cursor_.line();
    if (take_level(line) != Level::None) break;
    cursor_.advance();
  }
  describe_java_error(input_.lines.subspan(start, cursor_.position() - start), ledger_, failure);
  ledger_.add(std::move(failure));
  return true;
}

// "Tests run: 8, Failures: 3, Errors: 2, Skipped: 1": of a class, with its time, or of all.
bool MavenScan::take_tests_run(std::string_view text) {
  if (!text.starts_with("Tests run:") || !contains(text, "Failures:")) return false;
  cursor_.advance();
  if (contains(text, "Time elapsed:")) {
    ledger_.omit_line("sums of classes", text);
    return true;
  }
  ledger_.account(text);
  for (auto part : split(text, ',')) {
    const auto word = take_until(part, ":");
    part = trim(part);
    const auto count = take_number(part);
    if (!word || !count) continue;
    const auto label = trim(*word);
    if (*count == 0 && label != "Tests run") continue;
    ledger_.add_total(label == "Tests run"  ? "tests"
                      : label == "Failures" ? "failures"
                      : label == "Errors"   ? "errors"
                                            : "skipped",
                      *count);
    if (label == "Failures" || label == "Errors") expected_ += *count;
  }
  return true;
}

// Takes "Failed tests:   wrong(x.CalcTest): sum" and "Tests in error:" of surefire before 2.19, and
// the indented lines below.
bool MavenScan::take_old_list(std::string_view title) {
  const bool is_list = title.starts_with("Failed tests:") || title.starts_with("Tests in error:");
  if (!is_list || ledger_.facts().failures.empty()) return false;
  do {
    ledger_.omit_line("summary lines", cursor_.line());
    cursor_.advance();
  } while (cursor_.line().starts_with("  "));
  return true;
}

// Takes "Failures:" and the lines below it, which repeat the failures in short. If the long form is
// missing, they are the failures.
bool MavenScan::take_list(Level level, std::string_view text) {
  const auto title = trim(text);
  if (level == Level::None) return take_old_list(title);
  if (level != Level::Error || (title != "Failures:" && title != "Errors:")) return false;
  cursor_.advance();
  const bool is_new = ledger_.facts().failures.empty();
  std::vector<Failure> listed;
  while (!cursor_.done()) {
    auto line = cursor_.line();
    const auto line_level = take_level(line);
    if (line_level != Level::Error || !line.starts_with("  ")) break;
    const auto entry = trim(line);
    ledger_.account(line);
    const bool is_part = line.starts_with("    ") && !listed.empty();
    if (is_part)
      listed.back().detail.emplace_back(entry);
    else
      listed.push_back(make_failure(entry, title == "Errors:" ? "ERROR" : "FAIL"));
    cursor_.advance();
  }
  for (auto& failure : listed) {
    if (is_new)
      ledger_.add(std::move(failure));
    else
      ledger_.omit("summary lines");
  }
  return true;
}

bool is_advice(std::string_view text) {
  constexpr std::array<std::string_view, 10> kAdvice = {"To see the full stack trace",
                                                        "Re-run Maven using the",
                                                        "For more information about the errors",
                                                        "[Help ",
                                                        "-> [Help ",
                                                        "Please refer to ",
                                                        "After correcting the problems",
                                                        "  mvn <args> -rf",
                                                        "See ",
                                                        "COMPILATION "};
  for (const auto start : kAdvice) {
    if (text.starts_with(start)) return true;
  }
  return is_blank(text);
}

void MavenScan::take_error(std::string_view text) {
  if (is_advice(text))
    ledger_.omit_line("maven advice", text);
  else
    ledger_.keep(cursor_.line());
  cursor_.advance();
}

// "--- surefire:3.2.5:test (default-test) @ app ---", "Building app 1.0", "Running x.CalcTest": the
// steps of a build. What a goal was asked for, such as a dependency tree, has no such form.
bool is_progress(std::string_view text) {
  constexpr std::array<std::string_view, 41> kStarts = {"Scanning for projects",
                                                        "Building ",
                                                        "Compiling ",
                                                        "Recompiling ",
                                                        "Changes detected",
                                                        "Nothing to compile",
                                                        "Copying ",
                                                        "skip non existing",
                                                        "Using '",
                                                        "Using auto detected provider",
                                                        "Using configured provider",
                                                        "Surefire report directory",
                                                        "Running ",
                                                        "T E S T S",
                                                        "Results",
                                                        "Total time:",
                                                        "Finished at:",
                                                        "Final Memory:",
                                                        "Reactor Summary",
                                                        "Reactor Build Order",
                                                        "Installing ",
                                                        "Deleting ",
                                                        "Downloading",
                                                        "Downloaded",
                                                        "Configured Artifact:",
                                                        "Unpacking ",
                                                        "Executing tasks",
                                                        "Executed tasks",
                                                        "No sources to compile",
                                                        "No tests to run",
                                                        "Not compiling ",
                                                        "Tests are skipped",
                                                        "argLine set to",
                                                        "Loading execution data file",
                                                        "Analyzed bundle",
                                                        "Attaching agents",
                                                        "Packaging ",
                                                        "Processing ",
                                                        "Webapp assembled",
                                                        "Replacing main artifact",
                                                        "Using the builder"};
  const auto body = trim(text);
  if (body.find_first_not_of('-') == std::string_view::npos) return true;
  const bool is_banner = body.starts_with("---") && body.ends_with("---");
  if (body.starts_with("from ") && body.ends_with("pom.xml")) return true;
  const bool is_module = contains(body, " ..") && contains(body, " SUCCESS [");
  const bool is_packaging = body.starts_with("--") && body.ends_with("]--");
  if (is_banner || is_module || is_packaging) return true;
  return std::ranges::any_of(kStarts, [&](auto start) { return body.starts_with(start); });
}

bool is_mojo_marker(std::string_view text) {
  return text.starts_with(">>> ") || text.starts_with("<<< ");
}

void MavenScan::take_info(std::string_view text) {
  const bool is_verdict = text.starts_with("BUILD ");
  const bool is_module = contains(text, " FAILURE [") || contains(text, " SKIPPED");
  const bool is_sum = text.ends_with(" error") || text.ends_with(" errors ") ||
                      text.ends_with(" warning") || text.ends_with(" warnings ");
  if (is_verdict || is_module || is_sum) ledger_.account(text);
  if (is_verdict || is_module)
    ledger_.keep(text);
  else if (is_sum || is_blank(text) || is_progress(text) || is_mojo_marker(text))
    ledger_.omit("info lines");
  else if (look_at(text).kind != LineKind::Plain)
    ledger_.keep(text);
  else
    ledger_.set_aside(text);
  cursor_.advance();
}

void MavenScan::take_levelled(Level level, std::string_view text) {
  if (take_compiler(level, text) || take_failed_test(level, text) || take_tests_run(text) ||
      take_list(level, text))
    return;
  if (level == Level::Error) return take_error(text);
  if (level == Level::Info) return take_info(text);
  const bool is_head = is_blank(text) || text.starts_with("COMPILATION WARNING");
  if (is_head)
    ledger_.omit("info lines");
  else
    (void)ledger_.add(make_diagnostic(Severity::Warning, {}, trim(text)));
  cursor_.advance();
}

std::optional<Facts> MavenScan::parse() {
  while (!cursor_.done()) {
    if (is_maven_line(cursor_.line())) ledger_.recognise();
    auto text = cursor_.line();
    const auto level = take_level(text);
    if (level != Level::None) {
      take_levelled(level, text);
    } else if (take_failed_test(level, text) || take_tests_run(text) || take_list(level, text)) {
      continue;
    } else if (text == "Results :" || trim(text) == "T E S T S" || text.starts_with("Running ") ||
               (text.size() > 20 && text.find_first_not_of('-') == std::string_view::npos)) {
      ledger_.omit("progress lines");
      cursor_.advance();
    } else if (text.starts_with("Downloading") || text.starts_with("Downloaded") ||
               text.starts_with("Progress (")) {
      ledger_.omit("downloads");
      cursor_.advance();
    } else if (text.starts_with("[DEBUG]")) {
      ledger_.omit("debug lines");
      cursor_.advance();
    } else {
      take_unknown(cursor_, ledger_);
    }
  }
  ledger_.expect_failures(expected_);
  ledger_.count_diagnostics();
  return ledger_.settle("maven", input_);
}

std::optional<Facts> parse_maven(const ParserInput& input) {
  return MavenScan(input).parse();
}

}  // namespace

Parser maven_parser() {
  return {.name = "maven", .recognises = recognises_maven, .parse = parse_maven};
}

}  // namespace nutshell::compaction
