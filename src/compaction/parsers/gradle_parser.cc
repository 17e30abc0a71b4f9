#include "compaction/parsers/gradle_parser.h"

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

bool is_gradle_line(std::string_view line) {
  return line.starts_with("> Task :") || line.starts_with("BUILD SUCCESSFUL in ") ||
         line.starts_with("BUILD FAILED in ") || line.starts_with("* What went wrong:") ||
         line.starts_with("FAILURE: Build ");
}

bool recognises_gradle(const ParserInput& input) {
  const auto& words = input.command.words;
  const bool is_called =
      !words.empty() && (words.front() == "gradle" || words.front() == "gradlew");
  return is_called || has_line(input.lines, is_gradle_line);
}

// "CalcTest > wrong() FAILED"
bool is_test_state(std::string_view line, std::string_view state) {
  return !line.starts_with(' ') && line.ends_with(state) && contains(line, " > ") &&
         !line.starts_with("> Task ");
}

class GradleScan {
 public:
  explicit GradleScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_task();
  bool take_test();
  bool take_test_sum();
  bool take_reason();
  bool take_advice();
  bool take_kotlin();
  bool take_verdict();
  bool take_info();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
};

// "> Task :test FAILED" and, before gradle 5, ":test FAILED"
bool GradleScan::take_task() {
  auto line = cursor_.line();
  const bool is_task =
      line.starts_with("> Task :") || (line.starts_with(':') && !contains(line, ": "));
  if (!is_task) return false;
  if (line.ends_with(" FAILED"))
    ledger_.keep(line);
  else
    ledger_.omit("tasks");
  cursor_.advance();
  return true;
}

bool GradleScan::take_test() {
  const auto line = cursor_.line();
  if (is_test_state(line, " PASSED") || is_test_state(line, " SKIPPED")) {
    if (line.ends_with("PASSED"))
      ledger_.omit("passing tests");
    else
      ledger_.set_aside_as("skipped tests", std::string(line));
    cursor_.advance();
    return true;
  }
  if (!is_test_state(line, " FAILED")) return false;
  auto failure = make_failure(line.substr(0, line.size() - 7));
  cursor_.advance();
  const auto start = cursor_.position();
  while (!cursor_.done() && (cursor_.line().starts_with("    ") ||
                             (is_blank(cursor_.line()) && cursor_.peek(1).starts_with("    "))))
    cursor_.advance();
  describe_java_error(input_.lines.subspan(start, cursor_.position() - start), ledger_, failure);
  // In short form the place is part of the words: "java.lang.AssertionError at ATest.java:2".
  if (failure.where.file.empty() && !failure.detail.empty()) {
    const auto at = failure.detail.back().rfind(" at ");
    const auto located =
        at == std::string::npos
            ? std::nullopt
            : split_location(std::string_view(failure.detail.back()).substr(at + 4));
    if (located && located->rest.empty()) {
      failure.where = located->where;
      failure.detail.back().resize(at);
    }
  }
  ledger_.add(std::move(failure));
  return true;
}

// "4 tests completed, 2 failed, 1 skipped"
bool GradleScan::take_test_sum() {
  auto text = cursor_.line();
  if (!take_number(text) ||
      !(text.starts_with(" tests completed") || text.starts_with(" test completed")))
    return false;
  for (const auto& total : counted_words(cursor_.line())) {
    const bool is_all = contains(total.word, "completed");
    ledger_.add_total(is_all ? "tests" : total.word, total.count);
    if (total.word == "failed") ledger_.expect_failures(total.count);
  }
  ledger_.account(cursor_.line());
  cursor_.advance();
  return true;
}

// "* What went wrong:" and the lines below it, up to "* Try:"
bool GradleScan::take_reason() {
  if (!cursor_.line().starts_with("* What went wrong:") && !cursor_.line().starts_with("* Where:"))
    return false;
  cursor_.advance();
  for (; !cursor_.done() && !cursor_.line().starts_with("* ") &&
         !cursor_.line().starts_with("BUILD FAILED") && !cursor_.line().starts_with("======");
       cursor_.advance()) {
    if (!is_blank(cursor_.line())) ledger_.keep(cursor_.line());
  }
  return true;
}

// "* Try:", "* Exception is:" and "* Get more help at …". The exception, which --stacktrace asks
// for, keeps its messages and the frames in the user's code.
bool GradleScan::take_advice() {
  const auto head = cursor_.line();
  const bool is_exception = head.starts_with("* Exception is:");
  if (!is_exception && !head.starts_with("* Try:") && !head.starts_with("* Get more help"))
    return false;
  const bool is_one_line = head.starts_with("* Get more help");
  do {
    const auto line = cursor_.line();
    const auto frame = java_frame(line);
    const bool is_kept = is_exception && line != head && !is_blank(line) &&
                         (frame ? frame->is_users : !trim(line).starts_with("... "));
    if (is_kept)
      ledger_.keep(trim(line));
    else if (!is_blank(line))
      ledger_.omit(is_exception ? "stack frames" : "gradle advice");
    cursor_.advance();
    if (is_one_line || (!is_exception && is_blank(cursor_.line()))) break;
  } while (!cursor_.done() && !cursor_.line().starts_with("* ") &&
           !cursor_.line().starts_with("BUILD ") && !cursor_.line().starts_with("======"));
  return true;
}

// "e: file:///src/A.kt:3:5 text", before Kotlin 1.9 "e: /src/A.kt: (3, 5): text"
bool GradleScan::take_kotlin() {
  auto text = cursor_.line();
  const bool is_error = text.starts_with("e: ");
  if (!is_error && !text.starts_with("w: ")) return false;
  text.remove_prefix(3);
  (void)take_prefix(text, "file://");
  const auto blank = text.find(' ');
  const auto located = split_location(text.substr(0, blank));
  const bool has_place = located && blank != std::string_view::npos;
  (void)ledger_.add(make_diagnostic(is_error ? Severity::Error : Severity::Warning,
                                    has_place ? located->where : Location{},
                                    has_place ? trim(text.substr(blank)) : text));
  cursor_.advance();
  return true;
}

bool GradleScan::take_verdict() {
  const auto line = cursor_.line();
  const bool is_verdict = line.starts_with("BUILD SUCCESSFUL") ||
                          line.starts_with("BUILD FAILED") || contains(line, " actionable task");
  const bool is_chatter = line.starts_with("FAILURE: Build ") ||
                          line.starts_with("Starting a Gradle Daemon") || line == " FAILED" ||
                          line.starts_with("Deprecated Gradle features were used");
  if (is_verdict)
    ledger_.keep(line);
  else if (is_chatter)
    ledger_.omit_line("progress lines", line);
  else
    return false;
  cursor_.advance();
  return true;
}

// Takes what --info prints of every task.
bool GradleScan::take_info() {
  const auto line = cursor_.line();
  constexpr std::array<std::string_view, 17> kStarts = {"Creating new cache for ",
                                                        "Putting task artifact state ",
                                                        "Up-to-date check for task ",
                                                        "Skipping task ",
                                                        "Executing task ",
                                                        "Build cache key for task ",
                                                        "file or directory '",
                                                        "All input files are considered ",
                                                        "Initialized native services",
                                                        "Settings evaluated using ",
                                                        "Projects loaded.",
                                                        "Included projects: ",
                                                        "Evaluating root project ",
                                                        "All projects evaluated.",
                                                        "Selected primary task ",
                                                        "Tasks to be executed: ",
                                                        "Compiling with JDK Java compiler API."};
  const bool is_thread = contains(line, " (Thread[") &&
                         (line.ends_with("started.") || contains(line, " completed. Took "));
  if (!is_thread &&
      std::ranges::none_of(kStarts, [&](auto start) { return line.starts_with(start); }))
    return false;
  ledger_.omit_line("info lines", line);
  cursor_.advance();
  return true;
}

// Removes the task's name, behind which old versions print a compiler's first line.
std::string_view without_task(std::string_view line) {
  const auto slash = line.find('/');
  const bool is_joined = line.starts_with(':') && slash != std::string_view::npos &&
                         !contains(line.substr(0, slash), " ");
  return is_joined ? line.substr(slash) : line;
}

std::optional<Facts> GradleScan::parse() {
  while (!cursor_.done()) {
    if (is_gradle_line(cursor_.line())) ledger_.recognise();
    const auto text = without_task(cursor_.line());
    if (text.size() != cursor_.line().size()) {
      std::vector<std::string_view> block = {text};
      for (std::size_t ahead = 1; ahead < 6; ++ahead)
        block.push_back(cursor_.peek(ahead));
      LineCursor joined(block);
      if (take_javac_diagnostic(joined, ledger_)) {
        cursor_.advance(joined.position());
        continue;
      }
    }
    if (take_task() || take_test() || take_test_sum() || take_reason() || take_advice() ||
        take_kotlin() || take_verdict() || take_info())
      continue;
    take_unknown(cursor_, ledger_);
  }
  ledger_.count_diagnostics();
  return ledger_.settle("gradle", input_);
}

std::optional<Facts> parse_gradle(const ParserInput& input) {
  return GradleScan(input).parse();
}

}  // namespace

Parser gradle_parser() {
  return {.name = "gradle", .recognises = recognises_gradle, .parse = parse_gradle};
}

}  // namespace nutshell::compaction
