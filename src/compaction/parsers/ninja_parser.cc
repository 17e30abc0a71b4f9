#include "compaction/parsers/ninja_parser.h"

#include <algorithm>

#include "compaction/parsers/asked_for.h"
#include "compaction/parsers/build_steps.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_ninja_line(std::string_view line) {
  if (line.starts_with("ninja: ") || line.starts_with("samu: ")) return true;
  const auto step = build_step(line);
  // "[1/4] Resolving packages..." is yarn's; ninja's "[0/1] Re-running CMake..." is its step 0.
  const bool is_yarns = step && step->number > 0 && step->text.ends_with("...");
  return step && step->total > 0 && step->number <= step->total && !step->text.empty() && !is_yarns;
}

// Returns whether the steps are the answer (`ninja -n`) or there are none (`ninja -t`).
bool prints_steps(const CommandWords& command) {
  const bool is_ninja = command.starts_with({"ninja"}) || command.starts_with({"samu"});
  return is_ninja && asks_for(command, {"-n", "-t"});
}

bool recognises_ninja(const ParserInput& input) {
  if (prints_steps(input.command)) return false;
  const auto& words = input.command.words;
  const bool is_called = !words.empty() && (words.front() == "ninja" || words.front() == "samu");
  return is_called || has_line(input.lines, is_ninja_line);
}

// Takes the output of the failed command, which ninja prints right below it.
void take_words_of_step(LineCursor& cursor, Ledger& ledger) {
  while (!cursor.done() && !is_ninja_line(cursor.line()) && !cursor.line().starts_with("FAILED: "))
    take_unknown(cursor, ledger);
  for (const auto word : ledger.take_last_words())
    ledger.facts().failures.back().detail.emplace_back(word);
}

// "FAILED: [code=1] target", and below it the command that failed.
bool take_failed_step(LineCursor& cursor, Ledger& ledger) {
  auto text = cursor.line();
  if (!take_prefix(text, "FAILED: ")) return false;
  auto failure = make_failure(trim(text), "FAILED");
  cursor.advance();
  const auto command = cursor.line();
  // The command is shown unless it is a compiler's.
  if (is_command_echo(command))
    ledger.omit("command lines");
  else if (!command.empty() && !build_step(command))
    failure.detail.emplace_back(command);
  if (!command.empty() && !build_step(command)) cursor.advance();
  ledger.add(std::move(failure));
  ledger.begin_step();
  take_words_of_step(cursor, ledger);
  return true;
}

std::optional<Facts> parse_ninja(const ParserInput& input) {
  Ledger ledger;
  std::uint64_t steps = 0;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    const auto line = cursor.line();
    if (is_ninja_line(line)) ledger.recognise();
    if (take_failed_step(cursor, ledger)) continue;
    if (const auto step = build_step(line)) {
      steps = std::max(steps, step->number);
      ledger.omit("build steps");
      cursor.advance();
    } else if (line.starts_with("ninja: ") && !line.starts_with("ninja: Entering directory")) {
      ledger.keep(line);
      cursor.advance();
    } else {
      take_unknown(cursor, ledger);
    }
  }
  if (steps > 0) ledger.add_total("steps", steps);
  ledger.count_diagnostics();
  return ledger.settle("ninja", input);
}

}  // namespace

Parser ninja_parser() {
  return {.name = "ninja", .recognises = recognises_ninja, .parse = parse_ninja};
}

}  // namespace nutshell::compaction
