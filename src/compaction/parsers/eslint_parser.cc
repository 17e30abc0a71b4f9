#include "compaction/parsers/eslint_parser.h"

#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "  1:5   warning  'unused' is assigned a value but never used  no-unused-vars"
std::optional<Diagnostic> stylish_row(std::string_view line, std::string_view file) {
  if (!line.starts_with("  ") || file.empty()) return std::nullopt;
  auto text = trim(line);
  const auto row = take_small_number(text);
  if (!row || !take_prefix(text, ":")) return std::nullopt;
  const auto column = take_small_number(text);
  if (!column || !text.starts_with(' ')) return std::nullopt;
  const auto word = take_word(text);
  if (word != "error" && word != "warning") return std::nullopt;
  Location where{std::string(file), *row, *column};
  auto diagnostic = make_diagnostic(word == "error" ? Severity::Error : Severity::Warning,
                                    std::move(where), text);
  const auto gap = text.rfind("  ");
  const auto rule = gap == std::string_view::npos ? std::string_view{} : text.substr(gap + 2);
  if (!rule.empty() && !contains(rule, " ")) {
    diagnostic.rule = rule;
    diagnostic.message = std::string(trim(text.substr(0, gap)));
  }
  return diagnostic;
}

void take_rule(Diagnostic& diagnostic, char open, char close) {
  const std::string_view message = diagnostic.message;
  const auto at = message.rfind(std::string(" ") + open);
  if (at == std::string_view::npos || !message.ends_with(close)) return;
  auto rule = message.substr(at + 2, message.size() - at - 3);
  if (contains(rule, " ")) return;
  if (take_prefix(rule, "Warning/")) diagnostic.severity = Severity::Warning;
  (void)take_prefix(rule, "Error/");
  diagnostic.rule = rule;
  diagnostic.message = std::string(message.substr(0, at));
}

// "/src/a.js: line 1, col 5, Warning - text. (no-unused-vars)"
std::optional<Diagnostic> compact_row(std::string_view line) {
  const auto at = line.find(": line ");
  if (at == std::string_view::npos) return std::nullopt;
  auto text = line.substr(at + 7);
  const auto row = take_small_number(text);
  if (!row || !take_prefix(text, ", col ")) return std::nullopt;
  const auto column = take_small_number(text);
  if (!column || !take_prefix(text, ", ")) return std::nullopt;
  const bool is_error = take_prefix(text, "Error - ");
  if (!is_error && !take_prefix(text, "Warning - ")) return std::nullopt;
  auto diagnostic = make_diagnostic(is_error ? Severity::Error : Severity::Warning,
                                    {std::string(line.substr(0, at)), *row, *column}, text);
  take_rule(diagnostic, '(', ')');
  return diagnostic;
}

// "/src/a.js:1:5: text [Error/semi]"
std::optional<Diagnostic> unix_row(std::string_view line) {
  if (!line.ends_with(']') || !(contains(line, " [Error") || contains(line, " [Warning")))
    return std::nullopt;
  const auto located = split_location(line);
  if (!located || located->where.column == 0) return std::nullopt;
  auto diagnostic = make_diagnostic(Severity::Error, located->where, located->rest);
  take_rule(diagnostic, '[', ']');
  return diagnostic;
}

// "✖ 7 problems (6 errors, 1 warning)", "7 problems"
bool is_sum(std::string_view line) {
  (void)take_prefix(line, "✖ ");
  return take_number(line) && (line.starts_with(" problem"));
}

bool is_eslint_line(std::string_view line) {
  return is_sum(line) || compact_row(line).has_value() || unix_row(line).has_value();
}

bool recognises_eslint(const ParserInput& input) {
  return input.command.has("eslint") || has_line(input.lines, is_eslint_line);
}

bool is_file_heading(std::string_view line, std::string_view below) {
  return !line.empty() && !line.starts_with(' ') && stylish_row(below, line).has_value();
}

class EslintScan {
 public:
  explicit EslintScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_row();
  bool take_sum();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::string_view file_;
  std::uint64_t rows_ = 0;
  std::uint64_t expected_ = 0;
};

bool EslintScan::take_row() {
  const auto line = cursor_.line();
  auto diagnostic = stylish_row(line, file_);
  const bool is_stylish = diagnostic.has_value();
  if (!diagnostic) diagnostic = compact_row(line);
  if (!diagnostic) diagnostic = unix_row(line);
  if (!diagnostic) return false;
  cursor_.advance();
  // A message of several lines goes on below, deeper than the rows.
  while (is_stylish && cursor_.line().starts_with("    ") && !stylish_row(cursor_.line(), file_)) {
    diagnostic->detail.emplace_back(trim(cursor_.line()));
    cursor_.advance();
  }
  ++rows_;
  (void)ledger_.add(std::move(*diagnostic));  // repeated or new, it is accounted for
  return true;
}

bool EslintScan::take_sum() {
  auto text = cursor_.line();
  if (!is_sum(text)) return false;
  ledger_.recognise();
  for (const auto& total : counted_words(text)) {
    const bool is_all = total.word.starts_with("problem");
    const auto word = total.word.starts_with("error")     ? "errors"
                      : total.word.starts_with("warning") ? "warnings"
                                                          : "problems";
    ledger_.add_total(word, total.count);
    if (is_all) expected_ += total.count;
  }
  cursor_.advance();
  if (contains(cursor_.line(), " potentially fixable ")) {
    ledger_.keep(trim(cursor_.line()));
    cursor_.advance();
  }
  return true;
}

std::optional<Facts> EslintScan::parse() {
  while (!cursor_.done()) {
    if (is_file_heading(cursor_.line(), cursor_.peek(1))) {
      file_ = cursor_.line();
      cursor_.advance();
      continue;
    }
    if (is_blank(cursor_.line())) file_ = {};
    if (take_row() || take_sum()) continue;
    take_unknown(cursor_, ledger_);
  }
  if (rows_ < expected_) return std::nullopt;
  if (rows_ > 0) ledger_.recognise();
  ledger_.count_diagnostics();
  return ledger_.settle("eslint", input_);
}

std::optional<Facts> parse_eslint(const ParserInput& input) {
  return EslintScan(input).parse();
}

}  // namespace

Parser eslint_parser() {
  return {.name = "eslint", .recognises = recognises_eslint, .parse = parse_eslint};
}

}  // namespace nutshell::compaction
