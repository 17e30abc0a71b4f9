#include "compaction/parsers/tracebacks.h"

#include <string>
#include <utility>
#include <vector>

#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostMessageLines = 40;

bool is_marks(std::string_view line) {
  const auto marks = trim(line);
  return !marks.empty() && marks.find_first_not_of("^~") == std::string_view::npos;
}

std::string frame_text(const Frame& frame, std::string_view code) {
  auto text = to_text(frame.where);
  if (!code.empty()) text.append("  ").append(code);
  return text;
}

struct Frames {
  Location last;        // where it was raised
  Location last_users;  // where the user's own code was
  std::vector<std::string> shown;
};

// A frame, the code below it and the marks below that.
void take_frame(LineCursor& cursor, Ledger& ledger, Frames& frames) {
  const auto frame = python_frame(cursor.line());
  cursor.advance();
  std::string_view code;
  while (!cursor.done() && cursor.line().starts_with("    ") && !python_frame(cursor.line())) {
    if (code.empty()) code = trim(cursor.line());
    if (!is_marks(cursor.line()) && code != trim(cursor.line())) ledger.omit("code excerpts");
    cursor.advance();
  }
  frames.last = frame->where;
  if (!frame->is_users) {
    ledger.omit("stack frames");
    return;
  }
  frames.last_users = frame->where;
  auto text = frame_text(*frame, code);
  if (!frames.shown.empty() && frames.shown.back() == text) {
    ledger.omit("stack frames");
    return;
  }
  frames.shown.push_back(std::move(text));
}

Frames take_frames(LineCursor& cursor, Ledger& ledger) {
  Frames frames;
  while (!cursor.done()) {
    const auto line = cursor.line();
    if (python_frame(line)) {
      take_frame(cursor, ledger, frames);
    } else if (line.starts_with("  [Previous line repeated ")) {
      frames.shown.emplace_back(trim(line));
      cursor.advance();
    } else if (line.starts_with("  ")) {
      ledger.omit("code excerpts");
      cursor.advance();
    } else {
      break;
    }
  }
  return frames;
}

// A message of several lines has no end of its own: a blank line or the next structure is one.
void take_message_lines(LineCursor& cursor, Diagnostic& diagnostic) {
  std::size_t taken = 0;
  while (!cursor.done() && taken < kMostMessageLines) {
    const auto line = cursor.line();
    if (is_blank(line) || starts_traceback(line) || line.starts_with("====") ||
        line.starts_with("----") || line.starts_with("make"))
      return;
    diagnostic.detail.emplace_back(trim_right(line));
    cursor.advance();
    ++taken;
  }
}

// "SyntaxError: invalid syntax", "json.decoder.JSONDecodeError: …", "MyErr"
bool is_exception_line(std::string_view line) {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  if (name.empty() || !((name.front() >= 'A' && name.front() <= 'Z') ||
                        (name.front() >= 'a' && name.front() <= 'z') || name.front() == '_'))
    return false;
  return name.find_first_of(" \t/()\"'[]{}=") == std::string_view::npos;
}

// `  File "x.py", line 1`, code and marks, then "SyntaxError: …": no traceback leads it.
bool take_syntax_error(LineCursor& cursor, Ledger& ledger) {
  const auto frame = python_frame(cursor.line());
  if (!frame) return false;
  std::size_t ahead = 1;
  while (ahead < 5 && cursor.peek(ahead).starts_with("    "))
    ++ahead;
  const auto last = cursor.peek(ahead);
  if (!is_exception_line(last) || !contains(last, "Error: ")) return false;
  auto diagnostic = make_diagnostic(Severity::Error, frame->where, last);
  for (std::size_t at = 1; at < ahead; ++at) {
    if (!is_marks(cursor.peek(at))) diagnostic.detail.emplace_back(trim(cursor.peek(at)));
  }
  cursor.advance(ahead + 1);
  (void)ledger.add(std::move(diagnostic));
  return true;
}

// An exception group is a tree; it is shown as it is, without the code lines.
bool take_exception_group(LineCursor& cursor, Ledger& ledger) {
  if (!contains(cursor.line(), "+ Exception Group Traceback (most recent call last):"))
    return false;
  while (!cursor.done()) {
    const auto text = trim_left(cursor.line());
    if (!text.starts_with('|') && !text.starts_with('+')) break;
    const bool is_code = text.starts_with("|     ");
    if (is_code)
      ledger.omit("code excerpts");
    else
      ledger.keep(cursor.line());
    cursor.advance();
  }
  return true;
}

}  // namespace

bool starts_traceback(std::string_view line) {
  return line.starts_with("Traceback (most recent call last):");
}

bool is_traceback_link(std::string_view line) {
  return line.starts_with("During handling of the above exception, another exception") ||
         line.starts_with("The above exception was the direct cause of the following");
}

std::optional<Diagnostic> take_traceback(LineCursor& cursor, Ledger& ledger) {
  if (!starts_traceback(cursor.line())) return std::nullopt;
  cursor.advance();
  auto frames = take_frames(cursor, ledger);
  Diagnostic diagnostic;
  diagnostic.where = frames.last_users.file.empty() ? frames.last : frames.last_users;
  diagnostic.detail = std::move(frames.shown);
  // The last frame shown is the place itself: its code is enough.
  if (!cursor.done() && is_exception_line(cursor.line())) {
    diagnostic.message = trim_right(cursor.line());
    cursor.advance();
    take_message_lines(cursor, diagnostic);
  } else {
    diagnostic.message = "traceback without its exception";
  }
  return diagnostic;
}

bool take_tracebacks(LineCursor& cursor, Ledger& ledger) {
  if (take_exception_group(cursor, ledger) || take_syntax_error(cursor, ledger)) return true;
  auto diagnostic = take_traceback(cursor, ledger);
  if (!diagnostic) return false;
  (void)ledger.add(std::move(*diagnostic));  // repeated or new, it is accounted for
  while (!cursor.done()) {
    const auto start = cursor.position();
    while (!cursor.done() && (is_blank(cursor.line()) || is_traceback_link(cursor.line())))
      cursor.advance();
    auto next = cursor.position() == start ? std::nullopt : take_traceback(cursor, ledger);
    if (!next) {
      cursor.move_to(start);
      break;
    }
    (void)ledger.add(std::move(*next));
  }
  return true;
}

}  // namespace nutshell::compaction
