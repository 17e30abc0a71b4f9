#include "compaction/parsers/js_reports.h"

#include <algorithm>
#include <array>
#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostFrames = 8;

// Returns whether node adds the key to an assertion's error without saying more than its message.
bool is_error_key(std::string_view text) {
  constexpr std::array<std::string_view, 9> kKeys = {
      "generatedMessage: ", "code: 'ERR_",          "operator: ", "diff: '",      "failureType: '",
      "matcherResult: ",    "at async Promise.all", "showDiff: ", "cause: [Error"};
  for (const auto key : kKeys) {
    if (text.starts_with(key)) return true;
  }
  return text == "}" || text == "{";
}

std::size_t first_indent(Lines lines) {
  for (const auto line : lines) {
    if (!is_blank(line)) return indent_of(line);
  }
  return 0;
}

}  // namespace

bool is_js_excerpt(std::string_view line) {
  auto text = trim_left(line);
  if (text.size() == line.size()) return false;
  if (take_prefix(text, ">")) text = trim_left(text);
  (void)take_number(text);  // lines of marks have none
  text = trim_left(text);
  return text.starts_with('|');
}

void describe_js_error(Lines lines, Ledger& ledger, Failure& failure) {
  const auto indent = first_indent(lines);
  std::size_t frames = 0;
  for (const auto line : lines) {
    const auto text = trim(line);
    if (text.empty()) continue;
    if (is_js_excerpt(line)) {
      ledger.omit("code excerpts");
    } else if (const auto frame = node_frame(line)) {
      const bool is_shown = frame->is_users && frames < kMostFrames;
      if (is_shown && failure.where.line == 0)
        failure.where = frame->where;
      else if (is_shown)
        failure.detail.push_back("from " + to_text(frame->where));
      else
        ledger.omit("stack frames");
      frames += is_shown ? 1 : 0;
    } else if (is_error_key(text)) {
      ledger.omit("fields");
    } else {
      failure.detail.emplace_back(trim_right(line.substr(std::min(indent, indent_of(line)))));
    }
  }
}

MarkedTest marked_test(std::string_view line) {
  using Mark = MarkedTest::Mark;
  auto text = trim(line);
  auto mark = Mark::None;
  for (const std::string_view sign : {"✓ ", "✔ ", "√ "}) {
    if (mark == Mark::None && take_prefix(text, sign)) mark = Mark::Passed;
  }
  for (const std::string_view sign : {"✕ ", "✖ ", "× ", "✗ "}) {
    if (mark == Mark::None && take_prefix(text, sign)) mark = Mark::Failed;
  }
  for (const std::string_view sign : {"○ ", "✎ ", "↓ ", "□ ", "﹣ ", "⚠ "}) {
    if (mark == Mark::None && take_prefix(text, sign)) mark = Mark::Other;
  }
  if (mark == Mark::None) return {};
  if (const auto skip = text.rfind(" # "); skip != std::string_view::npos && text.ends_with('P'))
    text = text.substr(0, skip);
  const auto time = text.rfind(" (");
  const bool has_time = time != std::string_view::npos &&
                        (text.ends_with("ms)") || text.ends_with(" s)") || text.ends_with("s)")) &&
                        is_digit(text[time + 2]);
  if (has_time) text = text.substr(0, time);
  return {mark, trim(text)};
}

void account_for_test(std::string_view line, const MarkedTest& test, Ledger& ledger) {
  using Mark = MarkedTest::Mark;
  if (test.mark == Mark::Other)
    ledger.set_aside_as("skipped tests", std::string(trim(line)));
  else
    ledger.omit(test.mark == Mark::Passed ? "passing tests" : "progress lines");
}

namespace {

// "----|-----|----" and node's "# ------"
bool is_coverage_rule(std::string_view line) {
  for (const std::string_view mark : {"# ", "ℹ "})
    (void)take_prefix(line, mark);  // only node has it
  constexpr std::size_t kShortest = 10;
  return line.size() >= kShortest && line.find_first_not_of("-|") == std::string_view::npos;
}

}  // namespace

bool take_coverage_row(LineCursor& cursor, Ledger& ledger) {
  const auto line = cursor.line();
  if (is_coverage_rule(line)) {
    cursor.advance();
    return true;
  }
  if (!contains(line, "|")) return false;
  const auto cells = split(line, '|');
  constexpr std::size_t kFewestNumbers = 3;
  std::size_t numbers = 0;
  std::size_t whole = 0;
  for (std::size_t at = 1; at < cells.size(); ++at) {
    const auto cell = trim(cells[at]);
    const bool is_number =
        !cell.empty() && cell.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!is_number) break;
    ++numbers;
    whole += cell == "100" || cell == "100.00" ? 1 : 0;
  }
  const bool is_title = contains(line, "| % Stmts") || contains(line, "| line %");
  if (numbers < kFewestNumbers && !is_title) return false;
  cursor.advance();
  const auto name = trim(cells[0]);
  const bool is_sum = name.ends_with("All files") || name.ends_with("all files");
  if (numbers >= kFewestNumbers && numbers == whole && !is_sum) {
    ledger.omit("files covered whole");
    return true;
  }
  std::string row(trim_right(cells[0]));
  for (std::size_t at = 1; at < cells.size(); ++at)
    row.append("|").append(trim(cells[at]));
  ledger.keep(row);
  return true;
}

void add_js_totals(std::string_view text, std::string_view kind, Ledger& ledger) {
  // vitest puts the sum in brackets at the end
  if (const auto open = text.rfind('('); open != std::string_view::npos && text.ends_with(')')) {
    auto number = text.substr(open + 1);
    const auto total = take_number(number);
    if (total && number == ")") {
      add_js_totals(text.substr(0, open), kind, ledger);
      ledger.add_total(kind.empty() ? "total" : std::string(kind) + " total", *total);
      return;
    }
  }
  for (const auto& total : counted_words(text)) {
    const auto word = kind.empty() ? total.word : std::string(kind) + " " + total.word;
    ledger.add_total(word, total.count);
  }
}

}  // namespace nutshell::compaction
