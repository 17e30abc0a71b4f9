#include "compaction/parsers/coverage_parser.h"

#include <fmt/format.h>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/js_reports.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "Name      Stmts   Miss  Cover   Missing"
bool is_python_title(std::string_view line) {
  return line.starts_with("Name ") && contains(line, " Stmts ") && contains(line, " Cover");
}

// "File      | % Stmts | % Branch | % Funcs | % Lines | Uncovered Line #s "
bool is_istanbul_title(std::string_view line) {
  return line.starts_with("File ") && contains(line, "| % Stmts |");
}

// "example.com/veld/veld.go:7:	Push	100.0%"
bool is_go_row(std::string_view line) {
  return contains(line, ".go:") && contains(line, ":\t") && line.ends_with('%');
}

bool is_go_sum(std::string_view line) {
  return line.starts_with("total:\t") && contains(line, "(statements)");
}

bool is_coverage_line(std::string_view line) {
  return is_python_title(line) || is_istanbul_title(line) || is_go_sum(line);
}

bool recognises_coverage(const ParserInput& input) {
  return has_line(input.lines, is_coverage_line);
}

// A row of coverage.py ends with its share, or with the lines that are missing behind it.
bool is_python_row(std::string_view line) {
  const auto words = split_words(line);
  return words.size() >= 4 && is_digit(words[1].front()) && contains(line, "%");
}

bool is_whole(std::string_view line) {
  return line.ends_with(" 100%") || line.ends_with("\t100.0%");
}

std::optional<Facts> parse_coverage(const ParserInput& input) {
  Ledger ledger;
  bool is_python = false;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    const auto line = cursor.line();
    if (is_coverage_line(line)) ledger.recognise();
    is_python = is_python || is_python_title(line);
    if (take_coverage_row(cursor, ledger)) continue;
    const bool is_sum = line.starts_with("TOTAL") || is_go_sum(line);
    const bool is_row = is_go_row(line) || (is_python && is_python_row(line));
    if (is_row && is_whole(trim_right(line)) && !is_sum)
      ledger.omit(is_go_row(line) ? "functions covered whole" : "files covered whole");
    else if (is_row || is_sum || is_python_title(line))
      ledger.keep(fmt::format("{}", fmt::join(split_words(line), " ")));
    else
      take_unknown(cursor, ledger);
    if (is_row || is_sum || is_python_title(line)) cursor.advance();
  }
  return ledger.settle("coverage", input);
}

}  // namespace

Parser coverage_parser() {
  return {.name = "coverage", .recognises = recognises_coverage, .parse = parse_coverage};
}

}  // namespace nutshell::compaction
