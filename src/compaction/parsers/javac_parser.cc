#include "compaction/parsers/javac_parser.h"

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/java_diagnostics.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_javac_line(std::string_view line) {
  return contains(line, ".java:") && (contains(line, ": error: ") || contains(line, ": warning: "));
}

bool recognises_javac(const ParserInput& input) {
  return input.command.starts_with({"javac"}) || has_line(input.lines, is_javac_line);
}

// "4 errors", "1 warning", also "only showing the first 100 errors, of 240 total"
bool take_sum(LineCursor& cursor, Ledger& ledger) {
  auto text = cursor.line();
  const auto count = take_number(text);
  if (!count) return false;
  const bool is_error = text == " error" || text == " errors";
  if (!is_error && text != " warning" && text != " warnings") return false;
  ledger.add_total(is_error ? "errors" : "warnings", *count);
  cursor.advance();
  return true;
}

std::optional<Facts> parse_javac(const ParserInput& input) {
  Ledger ledger;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    if (take_javac_diagnostic(cursor, ledger)) {
      ledger.recognise();
    } else if (!take_sum(cursor, ledger)) {
      take_unknown(cursor, ledger);
    }
  }
  ledger.count_diagnostics();
  return ledger.settle("javac", input);
}

}  // namespace

Parser javac_parser() {
  return {.name = "javac", .recognises = recognises_javac, .parse = parse_javac};
}

}  // namespace nutshell::compaction
