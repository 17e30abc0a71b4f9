#include "compaction/parsers/maven_parser.h"

#include <array>
#include <string>
#include <vector>

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
  bool take_tests_run(Level level, std::string_view text);
  bool take_list(Level level, std::string_view text);
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
  (void)ledger_.add(std::move(*diagnostic));  // the failed goal tells them all once more
  return true;
}

// "x.CalcTest.boom -- Time elapsed: 0.005 s <<< ERROR!", before surefire 3
// "boom(x.CalcTest)  Time elapsed: 0.005 s  <<< ERROR!"; then the exception
bool MavenScan::take_failed_test(Level level, std::string_view text) {
  const bool is_error = contains(text, " <<< ERROR!");
  if (level != Level::Error || (!is_error && !contains(text, " <<< FAILURE!"))) return false;
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
bool MavenScan::take_tests_run(Level level, std::string_view text) {
  if (level == Level::None || !text.starts_with("Tests run:")) return false;
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

// "Failures: " and the lines below it repeat the failures in short; when the long form is not
// there, they are the failures.
bool MavenScan::take_list(Level level, std::string_view text) {
  const auto title = trim(text);
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

void MavenScan::take_info(std::string_view text) {
  const bool is_verdict = text.starts_with("BUILD ");
  const bool is_module = contains(text, " FAILURE [") || contains(text, " SKIPPED");
  const bool is_sum = text.ends_with(" error") || text.ends_with(" errors ");
  if (is_verdict || is_module || is_sum) ledger_.account(text);
  if (is_verdict || is_module)
    ledger_.keep(text);
  else
    ledger_.omit("info lines");
  cursor_.advance();
}

void MavenScan::take_levelled(Level level, std::string_view text) {
  if (take_compiler(level, text) || take_failed_test(level, text) || take_tests_run(level, text) ||
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
    } else if (text.starts_with("Downloading from ") || text.starts_with("Downloaded from ") ||
               text.starts_with("Progress (")) {
      ledger_.omit("downloads");
      cursor_.advance();
    } else {
      take_unknown(cursor_, ledger_);
    }
  }
  ledger_.expect_failures(expected_);
  ledger_.count_diagnostics();
  return ledger_.settle("maven", input_.ending);
}

std::optional<Facts> parse_maven(const ParserInput& input) {
  return MavenScan(input).parse();
}

}  // namespace

Parser maven_parser() {
  return {.name = "maven", .recognises = recognises_maven, .parse = parse_maven};
}

}  // namespace nutshell::compaction
