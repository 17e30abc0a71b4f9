#include "compaction/parsers/make_parser.h"

#include "compaction/parsers/asked_for.h"
#include "compaction/parsers/build_steps.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_make_line(std::string_view line) {
  const auto message = make_message(line);
  return message && (message->starts_with("Entering directory") || message->starts_with("*** ") ||
                     message->starts_with("Nothing to be done"));
}

// Returns whether the commands or rules are the answer.
bool prints_commands(const CommandWords& command) {
  const bool is_make = command.starts_with({"make"}) || command.starts_with({"gmake"});
  return is_make && asks_for(command, {"-n", "--just-print", "--dry-run", "--recon", "-p",
                                       "--print-data-base", "--trace", "-d", "--debug"});
}

bool recognises_make(const ParserInput& input) {
  if (prints_commands(input.command)) return false;
  const auto& words = input.command.words;
  const bool is_called = !words.empty() && (words.front() == "make" || words.front() == "gmake");
  return is_called || has_line(input.lines, is_make_line);
}

std::uint64_t level_of(std::string_view line) {
  (void)take_until(line, "make");  // it is a make's line, "gmake" or "make"
  return take_prefix(line, "[") ? take_number(line).value_or(0) : 0;
}

bool is_failed_recipe(std::string_view line) {
  const auto message = make_message(line);
  return message && message->starts_with("*** [");
}

// Takes a message of make's own. A failed recipe makes every make above it print an error too; only
// the first and the last, which names the goal that was asked for, are kept.
bool take_make_message(LineCursor& cursor, Ledger& ledger, std::uint64_t& failed_level) {
  const auto line = cursor.line();
  if (const auto message = make_message(line)) {
    if (message->starts_with("Entering directory") || message->starts_with("Leaving directory"))
      return false;
    const bool is_failure = is_failed_recipe(line);
    const auto level = level_of(line);
    const bool goes_on = is_failed_recipe(cursor.peek(1)) && level_of(cursor.peek(1)) < level;
    const bool is_echo = (is_failure && level < failed_level && goes_on) ||
                         message->starts_with("*** Waiting for unfinished jobs") ||
                         message->ends_with("not remade because of errors.");
    if (is_failure && !is_echo) {
      for (const auto word : ledger.take_last_words())
        ledger.keep(word);
    }
    if (is_echo)
      ledger.omit_line("make errors passed up", line);
    else
      ledger.keep(line);
    if (is_failure) ledger.begin_step();
    if (is_failure) failed_level = level;
    cursor.advance();
    return true;
  }
  // "Makefile:2: *** missing separator.  Stop."
  const auto located = split_location(line);
  if (!located || !located->rest.starts_with("*** ")) return false;
  (void)ledger.add(make_diagnostic(Severity::Error, located->where, located->rest));
  cursor.advance();
  return true;
}

std::optional<Facts> parse_make(const ParserInput& input) {
  Ledger ledger;
  std::uint64_t steps = 0;
  std::uint64_t failed_level = 0;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    const auto line = cursor.line();
    if (is_make_line(line) || build_step(line) || is_command_echo(line)) ledger.recognise();
    if (take_make_message(cursor, ledger, failed_level)) {
      ledger.recognise();
      continue;
    }
    steps += build_chatter(line) == "build steps" || is_command_echo(line) ? 1 : 0;
    take_unknown(cursor, ledger);
  }
  if (!ledger.facts().diagnostics.empty()) ledger.recognise();
  if (steps > 0) ledger.add_total("steps", steps);
  ledger.count_diagnostics();
  return ledger.settle("make", input);
}

}  // namespace

Parser make_parser() {
  return {.name = "make", .recognises = recognises_make, .parse = parse_make};
}

}  // namespace nutshell::compaction
