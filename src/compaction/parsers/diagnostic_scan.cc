#include "compaction/parsers/diagnostic_scan.h"

#include <algorithm>
#include <unordered_map>

#include "compaction/error_words.h"
#include "compaction/line_template.h"
#include "compaction/parsers/build_steps.h"
#include "compaction/parsers/cmake_messages.h"
#include "compaction/parsers/gcc_diagnostics.h"
#include "compaction/parsers/java_diagnostics.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/parsers/tracebacks.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_letter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

// A frame of Java's own classes, of a test runner or of an installed package of node.
bool is_library_frame(std::string_view line) {
  const auto text = trim_left(line);
  if (text.size() == line.size() || !text.starts_with("at ")) return false;
  if (const auto frame = java_frame(line)) return !frame->is_users;
  const auto frame = node_frame(line);
  return frame && !frame->is_users && !frame->where.file.empty();
}

}  // namespace

void take_unknown(LineCursor& cursor, Ledger& ledger) {
  const auto line = cursor.line();
  if (is_blank(line)) {
    cursor.advance();
    return;
  }
  if (take_javac_diagnostic(cursor, ledger) || take_gcc_diagnostic(cursor, ledger) ||
      take_linker_message(cursor, ledger) || take_tracebacks(cursor, ledger) ||
      take_cmake_message(cursor, ledger))
    return;
  cursor.advance();
  if (is_library_frame(line)) {
    ledger.omit("stack frames");
  } else if (is_failed_check(line)) {
    ledger.set_aside_as("failed checks", std::string(line));
    ledger.account(line);
  } else if (const auto chatter = build_chatter(line); !chatter.empty()) {
    ledger.omit(chatter);
  } else if (look_at(line).kind != LineKind::Plain) {
    ledger.keep(line);
  } else {
    ledger.set_aside(line);
  }
}

bool has_line(Lines lines, bool (*test)(std::string_view line)) {
  constexpr std::size_t kSide = 300;
  if (lines.size() <= 2 * kSide) return std::ranges::any_of(lines, test);
  return std::ranges::any_of(lines.first(kSide), test) ||
         std::ranges::any_of(lines.last(kSide), test);
}

std::vector<Total> counted_words(std::string_view text) {
  std::vector<Total> totals;
  while (!text.empty()) {
    if (!is_digit(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    const auto number = take_number(text);
    if (!number) return totals;
    if (!take_prefix(text, " ")) continue;
    std::size_t length = 0;
    while (length < text.size() && (is_letter(text[length]) || text[length] == ' '))
      ++length;
    const auto word = trim(text.substr(0, length));
    text.remove_prefix(length);
    if (!word.empty()) totals.push_back({std::string(word), *number});
  }
  return totals;
}

std::vector<std::string> condensed(std::span<const std::string_view> lines, Ledger& ledger) {
  constexpr std::size_t kWhole = 40;
  constexpr std::size_t kHead = 5;
  constexpr std::size_t kTail = 20;
  constexpr std::size_t kRare = 3;  // of one template
  std::unordered_map<std::uint64_t, std::size_t> templates;
  if (lines.size() > kWhole) {
    for (const auto line : lines)
      ++templates[template_of(line)];
  }
  std::vector<std::string> kept;
  std::uint64_t left_out = 0;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (is_blank(lines[at])) continue;
    const bool is_kept = lines.size() <= kWhole || at < kHead || at + kTail >= lines.size() ||
                         look_at(lines[at]).kind != LineKind::Plain ||
                         templates[template_of(lines[at])] <= kRare;
    if (is_kept) kept.emplace_back(trim_right(lines[at]));
    left_out += is_kept ? 0 : 1;
  }
  ledger.omit("output of failed tests", left_out);
  return kept;
}

}  // namespace nutshell::compaction
