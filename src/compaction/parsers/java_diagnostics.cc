#include "compaction/parsers/java_diagnostics.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compaction/parsers/gcc_diagnostics.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_java_file(std::string_view file) {
  return file.ends_with(".java") || file.ends_with(".kt") || file.ends_with(".groovy") ||
         file.ends_with(".scala");
}

// Returns whether one of the last lines is the same: recursion repeats a few frames.
bool is_repeated(std::string_view text, const Failure& failure) {
  const auto& lines = failure.detail;
  const auto recent = lines.end() - std::min<std::ptrdiff_t>(4, std::ssize(lines));
  return std::find(recent, lines.end(), text) != lines.end();
}

bool is_mark(std::string_view line) {
  return trim(line) == "^";
}

// "[rawtypes] found raw type: List": the lint's name stands ahead.
void take_lint(Diagnostic& diagnostic) {
  std::string_view text = diagnostic.message;
  if (!take_prefix(text, "[")) return;
  const auto lint = take_until(text, "] ");
  if (!lint) return;
  diagnostic.rule = *lint;
  diagnostic.message = std::string(text);
}

}  // namespace

bool take_javac_diagnostic(LineCursor& cursor, Ledger& ledger) {
  if (!contains(cursor.line(), ".")) return false;
  auto located = split_location(cursor.line());
  if (!located || !is_java_file(located->where.file)) return false;
  auto diagnostic = severity_message(located->rest);
  if (!diagnostic) return false;
  diagnostic->where = std::move(located->where);
  take_lint(*diagnostic);
  cursor.advance();
  // A message may go on before the code is shown.
  for (; cursor.line().starts_with("  ") && !is_mark(cursor.peek(1)); cursor.advance())
    diagnostic->detail.emplace_back(trim(cursor.line()));
  if (is_mark(cursor.peek(1))) {
    ledger.omit("code excerpts", 2);
    cursor.advance(2);
  }
  for (; cursor.line().starts_with("  "); cursor.advance())
    diagnostic->detail.emplace_back(trim(cursor.line()));
  (void)ledger.add(std::move(*diagnostic));  // repeated or new, it is accounted for
  return true;
}

void describe_java_error(Lines lines, Ledger& ledger, Failure& failure) {
  constexpr std::size_t kMostFrames = 8;  // of the user's
  std::size_t frames = 0;
  bool has_place = failure.where.line != 0;
  for (const auto line : lines) {
    const auto text = trim(line);
    if (text.empty()) continue;
    const bool is_more = text.starts_with("... ") && text.ends_with(" more");
    const auto frame = java_frame(line);
    if (frame && frame->is_users && !has_place) {
      failure.where = frame->where;
      has_place = true;
    } else if (frame && frame->is_users && frames < kMostFrames && !is_repeated(text, failure)) {
      failure.detail.emplace_back(text);
      ++frames;
    } else if (frame || is_more || text == "[...]") {
      ledger.omit("stack frames");
    } else {
      failure.detail.emplace_back(text);
      // A cause has a place of its own, which says more than the first.
      has_place = has_place && !text.starts_with("Caused by: ");
    }
  }
}

}  // namespace nutshell::compaction
