#include "compaction/parsers/gcc_parser.h"

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/gcc_diagnostics.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_compiler_line(std::string_view line) {
  if (const auto located = split_location(line))
    return located->where.line > 0 && severity_message(located->rest).has_value();
  return line.starts_with("collect2: error:") || contains(line, ": undefined reference to `");
}

// "6 warnings and 1 error generated." and "1 warning generated.", as clang sums up.
bool take_clang_sum(LineCursor& cursor, Ledger& ledger) {
  const auto line = cursor.line();
  if (!line.ends_with(" generated.")) return false;
  auto text = line;
  while (const auto number = take_number(text)) {
    text = trim_left(text);
    const auto word = take_word(text);
    if (word.starts_with("warning"))
      ledger.add_total("warnings", *number);
    else if (word.starts_with("error"))
      ledger.add_total("errors", *number);
    (void)take_prefix(text, "and ");  // between the two, when there are two
  }
  cursor.advance();
  return true;
}

bool recognises_gcc(const ParserInput& input) {
  const auto& words = input.command.words;
  const bool is_called = !words.empty() && is_compiler_program(words.front());
  return is_called || has_line(input.lines, is_compiler_line);
}

std::optional<Facts> parse_gcc(const ParserInput& input) {
  Ledger ledger;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    if (take_clang_sum(cursor, ledger)) continue;
    if (cursor.line() == "compilation terminated.") {
      ledger.omit("other lines");
      cursor.advance();
      continue;
    }
    take_unknown(cursor, ledger);
  }
  if (!ledger.facts().diagnostics.empty()) ledger.recognise();
  ledger.count_diagnostics();
  const bool is_clang =
      !input.command.words.empty() && contains(input.command.words.front(), "clang");
  return ledger.settle(is_clang ? "clang" : "gcc", input.ending);
}

}  // namespace

Parser gcc_parser() {
  return {.name = "gcc", .recognises = recognises_gcc, .parse = parse_gcc};
}

}  // namespace nutshell::compaction
