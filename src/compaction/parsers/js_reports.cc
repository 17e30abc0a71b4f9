#include "compaction/parsers/js_reports.h"

#include <algorithm>
#include <array>
#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostFrames = 3;

// Keys that node adds to an assertion's error and that say nothing beyond its message.
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
