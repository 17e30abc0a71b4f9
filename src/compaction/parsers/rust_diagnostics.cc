#include "compaction/parsers/rust_diagnostics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "error[E0308]: text", "warning: text"
std::optional<Diagnostic> headed(std::string_view line) {
  Diagnostic diagnostic;
  if (take_prefix(line, "error"))
    diagnostic.severity = Severity::Error;
  else if (take_prefix(line, "warning"))
    diagnostic.severity = Severity::Warning;
  else
    return std::nullopt;
  if (take_prefix(line, "[")) {
    const auto code = take_until(line, "]");
    if (!code) return std::nullopt;
    diagnostic.rule = *code;
  }
  if (!take_prefix(line, ": ") || line.empty()) return std::nullopt;
  diagnostic.message = trim(line);
  return diagnostic;
}

std::optional<Location> arrow_place(std::string_view line) {
  auto text = trim_left(line);
  if (!take_prefix(text, "--> ") && !take_prefix(text, "::: ")) return std::nullopt;
  const auto located = split_location(text);
  return located ? std::optional(located->where) : std::nullopt;
}

// "  |     ^^^ expected `i32`" gives the words behind the marks; nothing for marks alone.
std::string_view label_text(std::string_view line) {
  auto text = trim_left(line);
  if (!take_prefix(text, "|")) return {};
  const auto first = text.find_first_not_of(" |^-_~+/\\");
  return first == std::string_view::npos ? std::string_view{} : trim(text.substr(first));
}

// "12 |   code", "12 +   code", "12 ~   code", "LL - code"
bool is_code_line(std::string_view line) {
  auto text = trim_left(line);
  if (!take_number(text)) return false;
  text = trim_left(text);
  return text.starts_with('|') || text.starts_with('+') || text.starts_with('~') ||
         text.starts_with('-');
}

bool is_location_or_frame(std::string_view line) {
  const auto text = trim_left(line);
  return text == "|" || text == "..." || text.starts_with("--> ") || text.starts_with("::: ");
}

// Finds the lint's name in `#[warn(unused_variables)]` or in the address of clippy's page on it,
// "https://rust-lang.github.io/rust-clippy/master/index.html#needless_return".
void take_lint(std::string_view note, Diagnostic& diagnostic) {
  if (!diagnostic.rule.empty()) return;
  if (auto page = note; contains(note, "/rust-clippy/") && take_until(page, "#")) {
    diagnostic.rule = "clippy::" + std::string(trim(page));
    return;
  }
  for (const std::string_view level : {"#[warn(", "#[deny(", "#[forbid("}) {
    auto rest = note;
    if (!take_until(rest, level)) continue;
    if (const auto lint = take_until(rest, ")")) diagnostic.rule = *lint;
    return;
  }
}

// "= note: text" and "= help: text"; those that only name the lint or its page are known already.
void take_remark(std::string_view text, Ledger& ledger, Diagnostic& diagnostic) {
  const bool is_lint = contains(text, "`#[") && contains(text, "on by default");
  const bool is_implied = contains(text, "implied by `");
  take_lint(text, diagnostic);
  if (is_lint || is_implied || contains(text, "for further information visit http")) {
    ledger.omit_line("notes on lints", text);
    return;
  }
  diagnostic.detail.emplace_back(text);
}

// The lines below a heading: a place, excerpts with labels, remarks, further notes.
void take_body(LineCursor& cursor, Ledger& ledger, Diagnostic& diagnostic) {
  bool is_suggestion = false;
  while (!cursor.done() && !is_blank(cursor.line())) {
    const auto line = cursor.line();
    const auto text = trim_left(line);
    if (headed(line)) return;
    if (const auto place = arrow_place(line)) {
      if (diagnostic.where.file.empty())
        diagnostic.where = *place;
      else
        diagnostic.detail.push_back("at " + to_text(*place));
    } else if (text.starts_with("= ")) {
      take_remark(text.substr(2), ledger, diagnostic);
    } else if (line.starts_with("note: ") || line.starts_with("help: ")) {
      is_suggestion = line.starts_with("help: ");
      diagnostic.detail.emplace_back(line);
    } else if (is_code_line(line)) {
      if (is_suggestion)
        diagnostic.detail.emplace_back(text);
      else
        ledger.omit("code excerpts");
    } else if (const auto label = label_text(line); !label.empty()) {
      const bool is_said = label == "not found in this scope" || diagnostic.message == label;
      if (is_said)
        ledger.omit("code excerpts");
      else
        diagnostic.detail.emplace_back(label);
    } else if (text.starts_with('|') || is_location_or_frame(line)) {
      ledger.omit("code excerpts");
    } else if (line.starts_with(' ')) {
      diagnostic.detail.emplace_back(text);
    } else {
      return;
    }
    cursor.advance();
  }
}

bool ends_panic(std::string_view line) {
  return is_blank(line) || line.starts_with("note: ") || line.starts_with("stack backtrace:") ||
         line.starts_with("---- ") || line.starts_with("thread '") || line.starts_with("test ") ||
         line == "failures:";
}

// "   4: demo::tests::bad" and "             at ./src/lib.rs:14:46"
bool is_backtrace_line(std::string_view line) {
  if (!line.starts_with("  ")) return false;
  auto text = trim_left(line);
  if (text.starts_with("at ")) return true;
  return take_number(text) && text.starts_with(": ");
}

bool is_users_rust_file(std::string_view place) {
  constexpr std::array<std::string_view, 7> kLibraries = {
      "/library/std/",  "/library/core/", "/library/alloc/", "/library/test/",
      "/registry/src/", "/rustlib/src/",  "/src/libstd/"};
  return !place.starts_with("/rustc/") && !place.starts_with("src/libcore/") &&
         !place.starts_with("src/libstd/") && !place.starts_with("src/libtest/") &&
         std::ranges::none_of(kLibraries, [&](auto part) { return contains(place, part); });
}

// Keeps the frames in the user's code, "demo::tests::bad ./src/lib.rs:14:46", and counts the rest.
void take_backtrace(LineCursor& cursor, Ledger& ledger, std::vector<std::string>& message) {
  std::string_view function;
  while (!cursor.done()) {
    const auto line = cursor.line();
    const bool is_hint = line.starts_with("note: run with `RUST_BACKTRACE") ||
                         line.starts_with("note: Some details are omitted");
    if (line != "stack backtrace:" && !is_backtrace_line(line) && !is_hint) return;
    auto text = trim_left(line);
    if (take_number(text) && take_prefix(text, ": ")) {
      function = text;
    } else if (take_prefix(text, "at ") && is_users_rust_file(text) && !function.empty()) {
      // Recursion repeats a few frames over and over.
      auto frame = std::string(function) + " " + std::string(text);
      const auto recent = message.end() - std::min<std::ptrdiff_t>(4, std::ssize(message));
      if (std::find(recent, message.end(), frame) == message.end())
        message.push_back(std::move(frame));
      else
        ledger.omit("stack frames");
      function = {};
    } else {
      ledger.omit("stack frames");
    }
    cursor.advance();
  }
}

// "left: 3" and "right: 4" in one line, as they are read.
void join_sides(std::vector<std::string>& message) {
  for (std::size_t at = 0; at + 1 < message.size(); ++at) {
    const bool are_sides =
        message[at].starts_with("left: ") && message[at + 1].starts_with("right: ");
    if (!are_sides || message[at].size() + message[at + 1].size() > 160) continue;
    message[at] += "  " + message[at + 1];
    message.erase(message.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    return;
  }
}

}  // namespace

bool take_rust_diagnostic(LineCursor& cursor, Ledger& ledger) {
  auto diagnostic = headed(cursor.line());
  if (!diagnostic) return false;
  cursor.advance();
  take_body(cursor, ledger, *diagnostic);
  (void)ledger.add(std::move(*diagnostic));  // repeated or new, it is accounted for
  return true;
}

std::optional<RustPanic> take_rust_panic(LineCursor& cursor, Ledger& ledger) {
  auto text = cursor.line();
  if (!take_prefix(text, "thread '")) return std::nullopt;
  const auto thread = take_until(text, "'");
  if (!thread || !take_until(text, "panicked at ")) return std::nullopt;
  RustPanic panic;
  panic.thread = *thread;
  ledger.account(text);  // its place and its message are told as the failure's
  cursor.advance();
  if (take_prefix(text, "'")) {  // rustc before 1.73: 'message', src/lib.rs:1:2
    const auto end = text.rfind("', ");
    if (end == std::string_view::npos) {
      panic.message.emplace_back(text);
    } else {
      panic.message.emplace_back(text.substr(0, end));
      if (const auto located = split_location(text.substr(end + 3))) panic.where = located->where;
    }
  } else if (const auto located = split_location(text)) {
    panic.where = located->where;
  }
  for (; !cursor.done() && !ends_panic(cursor.line()); cursor.advance())
    panic.message.emplace_back(trim(cursor.line()));
  join_sides(panic.message);
  take_backtrace(cursor, ledger, panic.message);
  return panic;
}

}  // namespace nutshell::compaction
