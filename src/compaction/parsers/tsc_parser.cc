#include "compaction/parsers/tsc_parser.h"

#include <string>
#include <utility>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "error TS2322: text" and "warning TS6133: text"
std::optional<Diagnostic> coded(std::string_view text) {
  const bool is_error = take_prefix(text, "error ");
  if (!is_error && !take_prefix(text, "warning ")) return std::nullopt;
  if (!text.starts_with("TS")) return std::nullopt;
  const auto code = take_until(text, ": ");
  if (!code || contains(*code, " ")) return std::nullopt;
  auto diagnostic = make_diagnostic(is_error ? Severity::Error : Severity::Warning, {}, trim(text));
  diagnostic.rule = *code;
  return diagnostic;
}

// "ts/a.ts(2,16): error TS2322: text"
std::optional<Diagnostic> plain_diagnostic(std::string_view line) {
  const auto end = line.find("): ");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const auto open = line.rfind('(', end);
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  auto place = line.substr(open + 1, end - open - 1);
  const auto row = take_small_number(place);
  if (!row || !take_prefix(place, ",")) return std::nullopt;
  const auto column = take_small_number(place);
  if (!column || !place.empty()) return std::nullopt;
  auto diagnostic = coded(line.substr(end + 3));
  if (diagnostic) diagnostic->where = {std::string(line.substr(0, open)), *row, *column};
  return diagnostic;
}

// "ts/a.ts:2:16 - text", as --pretty writes places
std::optional<std::pair<Location, std::string_view>> pretty_place(std::string_view line) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto located = split_location(line.substr(0, dash));
  if (!located || !located->rest.empty() || located->where.column == 0) return std::nullopt;
  return std::pair{located->where, line.substr(dash + 3)};
}

std::optional<Diagnostic> diagnostic_at(std::string_view line) {
  if (line.starts_with(' ')) return std::nullopt;
  if (!contains(line, " TS")) return std::nullopt;
  if (auto diagnostic = plain_diagnostic(line)) return diagnostic;
  if (auto diagnostic = coded(line)) return diagnostic;
  const auto place = pretty_place(line);
  auto diagnostic = place ? coded(place->second) : std::nullopt;
  if (diagnostic) diagnostic->where = place->first;
  return diagnostic;
}

bool is_tsc_line(std::string_view line) {
  return (contains(line, "error TS") || contains(line, "warning TS")) &&
         diagnostic_at(line).has_value();
}

bool recognises_tsc(const ParserInput& input) {
  return input.command.has("tsc") || has_line(input.lines, is_tsc_line);
}

// Directly below: how the types differ. Behind a blank line: code, and places that have to do
// with it.
void take_body(LineCursor& cursor, Ledger& ledger, Diagnostic& diagnostic) {
  for (; cursor.line().starts_with("  "); cursor.advance())
    diagnostic.detail.emplace_back(trim(cursor.line()));
  while (!cursor.done()) {
    const auto line = cursor.line();
    if (diagnostic_at(line) || line.starts_with("Found ")) return;
    const auto place = pretty_place(trim_left(line));
    auto rest = trim_left(line);
    const bool is_code = take_number(rest) && (rest.empty() || rest.starts_with(' '));
    const bool is_marks = trim(line).find_first_not_of('~') == std::string_view::npos;
    if (place)
      diagnostic.detail.push_back(to_text(place->first) + ": " + std::string(place->second));
    else if (!is_code && !is_marks)
      return;
    else if (!is_blank(line))
      ledger.omit("code excerpts");
    cursor.advance();
  }
}

// "Found 9 errors in 2 files.", "Found 1 error in a.ts:2", and the table of files below it
bool take_sum(LineCursor& cursor, Ledger& ledger) {
  auto text = cursor.line();
  const auto found = text.find("Found ");
  if (found == std::string_view::npos) return false;
  text.remove_prefix(found + 6);
  const auto count = take_number(text);
  if (!count || !text.starts_with(" error")) return false;
  ledger.add_total("errors", *count);
  ledger.account(cursor.line());
  cursor.advance();
  if (!is_blank(cursor.line()) || !cursor.peek(1).starts_with("Errors  Files")) return true;
  ledger.account(cursor.peek(1));
  cursor.advance(2);
  for (; !cursor.done() && cursor.line().starts_with(' '); cursor.advance())
    ledger.omit_line("summary lines", cursor.line());
  return true;
}

std::optional<Facts> parse_tsc(const ParserInput& input) {
  Ledger ledger;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    if (auto diagnostic = diagnostic_at(cursor.line())) {
      cursor.advance();
      take_body(cursor, ledger, *diagnostic);
      (void)ledger.add(std::move(*diagnostic));  // repeated or new, it is accounted for
      ledger.recognise();
    } else if (!take_sum(cursor, ledger)) {
      take_unknown(cursor, ledger);
    }
  }
  ledger.count_diagnostics();
  return ledger.settle("tsc", input);
}

}  // namespace

Parser tsc_parser() {
  return {.name = "tsc", .recognises = recognises_tsc, .parse = parse_tsc};
}

}  // namespace nutshell::compaction
