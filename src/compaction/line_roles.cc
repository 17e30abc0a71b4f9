#include "compaction/line_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "compaction/diagnostic_line.h"
#include "compaction/error_words.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostBody = 60;   // lines
constexpr std::size_t kMostBeside = 6;  // lines of a body that are no deeper than its error
constexpr std::size_t kMostLevels = 4;
constexpr std::size_t kNone = LineRoles::kNone;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

bool is_passing(std::string_view line) {
  const auto text = trim(line);
  if (text.size() > 300 || text.empty()) return false;
  if (starts_with_any(text, {"\xe2\x9c\x93 ", "\xe2\x9c\x94 ", "\xe2\x88\x9a ", "ok: [", "PASS ",
                             "PASS: ", "PASSED ", "Passed ", "--- PASS", "[       OK", "[ RUN ",
                             "=== RUN", "OK: ", "[PASS]", "[ OK ]", "[OK] ", "[  OK  ]"}))
    return !text.ends_with('{');
  auto tap = text;
  if (take_prefix(tap, "ok ")) return take_number(tap) && !contains(tap, "#");
  const bool ends_so = text.ends_with(" ok") || text.ends_with(" OK") || text.ends_with("...ok") ||
                       text.ends_with("...Passed") || text.ends_with("...OK") ||
                       text.ends_with("| PASS |") || text.ends_with(" PASSED") ||
                       text.ends_with(" passed") || text.ends_with("[OK]") ||
                       text.ends_with(": OK");
  return ends_so && !is_digit(text.front());
}

// "3 passed", "2 failures", "Plan: 0 to add": numbers with the words of a verdict.
bool has_count_of(std::string_view text) {
  constexpr std::array<std::string_view, 24> kCounted = {
      "passed",    "failed",     "failure",   "error",   "warning",   "test",
      "example",   "assertion",  "problem",   "skipped", "pending",   "to add",
      "to change", "to destroy", "issue",     "offense", "violation", "vulnerab",
      "file",      "successful", "succeeded", "total",   "ran",       "left out"};
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(')) continue;
    while (at < text.size() && (is_digit(text[at]) || text[at] == '/' || text[at] == ','))
      ++at;
    std::string behind(trim_left(text.substr(at)).substr(0, 12));
    for (char& character : behind)
      character =
          character >= 'A' && character <= 'Z' ? static_cast<char>(character | 0x20) : character;
    for (const auto word : kCounted) {
      if (behind.starts_with(word)) return true;
    }
  }
  return false;
}

bool is_summary(std::string_view line) {
  const auto text = trim(line);
  if (text.empty() || text.size() > 300) return false;
  if (starts_with_any(
          text, {"Total",  "TOTAL",   "Summary",    "SUMMARY",       "Result",         "RESULT",
                 "Plan: ", "Tests: ", "Tests run",  "Finished",      "Found ",         "Ran ",
                 "Done",   "Failed",  "FAILED",     "PASSED",        "Apply complete", "Success",
                 "OK (",   "BUILD ",  "PLAY RECAP", "ERROR SUMMARY", "Time: ",         "Files="}))
    return true;
  const bool is_progress = contains(text, "% done") || contains(text, "%]");
  return !is_progress && has_count_of(text);
}

// A line that begins an error although no word says so: "not ok 3", "✘ name", "! Undefined".
bool starts_error(std::string_view line) {
  const auto text = trim(line);
  if (starts_with_any(text, {"\xe2\x9c\x98 ", "\xe2\x9c\x97 ", "\xe2\x9c\x96 ", "\xc3\x97 ",
                             "not ok ", "\xe2\x9d\x8c", "! "}))
    return true;
  return text.ends_with("| FAIL |") || text.ends_with("(FAILED)");
}

// "  1) name", "12) name": a list in which each entry is a failure.
bool is_numbered(std::string_view line) {
  auto text = trim_left(line);
  return take_number(text) && text.starts_with(") ");
}

// "src/a.js:3:5 lint/noDebugger ━━━━": names what the lines below it explain.
bool is_placed_heading(std::string_view line) {
  const bool has_bar =
      contains(line, "\xe2\x94\x81\xe2\x94\x81") || contains(line, "\xe2\x94\x80\xe2\x94\x80");
  return has_bar && line.find(':') < line.find(' ') && is_path(line.substr(0, line.find(':')));
}

bool is_library_path(std::string_view text) {
  constexpr std::array<std::string_view, 15> kLibraries = {
      "node_modules/", "node:internal", "site-packages/", "dist-packages/", "/gems/",
      "/usr/lib/",     "/usr/libexec/", "/usr/share/",    "internal/",      "java.base/",
      "<frozen ",      "/rustc/",       "org.junit.",     "/.cargo/",       "lib/ruby/"};
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](std::string_view part) { return contains(text, part); });
}

bool is_library_frame(std::string_view line) {
  const auto text = trim_left(line);
  if (text.size() == line.size()) return false;
  return (text.starts_with("at ") || text.starts_with("from ") || text.starts_with("# /") ||
          contains(text, ":in ")) &&
         is_library_path(text);
}

// "  ╰╴    ━━━━": the last row of a drawn excerpt, with marks and no words.
bool is_closing_corner(std::string_view text) {
  constexpr std::string_view kCorner = "\xe2\x95\xb0";  // ╰
  if (!text.starts_with(kCorner)) return false;
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0x80U) == 0 && c != ' ' && c != '-' && c != '^';
  });
}

// Takes "--> ", "╭▸ ", "┌─ ", "╭─[" or ",-[" off the start: the place of the message above follows.
bool take_arrow(std::string_view& text) {
  auto rest = trim_left(text);
  const auto start = rest.size();
  bool has_head = false;  // hyphens alone are a rule or an item of a list
  while (!rest.empty()) {
    const bool is_box = rest.starts_with("\xe2\x94") || rest.starts_with("\xe2\x95") ||
                        rest.starts_with("\xe2\x96");  // box drawings and arrows: three bytes each
    if (is_box && rest.size() < 3) return false;
    if (!is_box && rest.front() != '-' && rest.front() != '>' && rest.front() != ',') break;
    has_head = has_head || is_box || rest.front() == '>' || rest.starts_with(",-[");
    rest.remove_prefix(is_box ? 3 : 1);
  }
  if (!has_head || start - rest.size() < 2) return false;
  if (!take_prefix(rest, " ") && !take_prefix(rest, "[")) return false;
  text = rest;
  return true;
}

// "  12 | text", "> 4 |   text", "   |   ^^^"; not "   | ^^^ expected x", which says something.
bool is_source_row(std::string_view line) {
  auto text = trim_left(line);
  (void)take_prefix(text, ">");
  text = trim_left(text);
  const bool has_number = take_number(text).has_value();
  text = trim_left(text);
  (void)take_number(text);  // biome numbers both sides of a change
  text = trim_left(text);
  if (is_closing_corner(text)) return true;
  if (!take_prefix(text, "|") && !take_prefix(text, "\xe2\x94\x82")) return false;
  return has_number || trim(text).find_first_not_of("^~-") == std::string_view::npos ||
         trim(text) == "1";  // gfortran's mark, to which its message refers
}

// "-----", "=====": separates as a blank line does.
bool is_rule(std::string_view line) {
  const auto text = trim(line);
  if (text.size() < 3) return false;
  const char first = text.front();
  const auto other = text.find_first_not_of(first);
  if (other == std::string_view::npos)
    return std::string_view("-=*_~#+").find(first) != std::string_view::npos;
  return text.find_first_not_of("\xe2\x94\x80\x81\x95\x90 ") == std::string_view::npos;
}

// A line that goes on about the error above it, as TAP's comments and diffs do.
bool is_continuation(std::string_view line) {
  return starts_with_any(line, {"# ", "#\t", "| ", "+ ", "- ", "> ", "E  ", "  "});
}

class RoleFinder {
 public:
  explicit RoleFinder(Lines lines) : lines_(lines) {
    found_.roles.assign(lines.size(), Role::Plain);
    found_.above.assign(lines.size(), kNone);
  }

  LineRoles find() {
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      if (is_empty(at)) found_.roles[at] = Role::Blank;
    }
    find_above();
    for (std::size_t at = 0; at < lines_.size();)
      at = take_diagnostic(at);
    for (std::size_t at = 0; at < lines_.size(); ++at)
      mark(at);
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      if (found_.roles[at] == Role::Error || found_.roles[at] == Role::Warning) mark_block(at);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string_view line(std::size_t at) const {
    return at < lines_.size() ? lines_[at] : std::string_view();
  }
  [[nodiscard]] bool is_empty(std::size_t at) const {
    return is_blank(line(at)) || is_rule(line(at));
  }

  // A line belongs to the nearest line before it that is less indented. At the same indent it
  // belongs to the first line of its paragraph.
  void find_above() {
    std::vector<std::size_t> open;  // lines of growing indent
    std::size_t paragraph = kNone;
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      if (found_.roles[at] == Role::Blank) {
        paragraph = kNone;
        continue;
      }
      const std::size_t indent = indent_of(lines_[at]);
      while (!open.empty() && indent_of(lines_[open.back()]) >= indent)
        open.pop_back();
      const std::size_t parent = open.empty() ? kNone : open.back();
      found_.above[at] = parent;
      const bool is_first = paragraph == kNone;
      if (is_first) paragraph = at;
      const bool is_beside =
          !is_first && indent_of(lines_[paragraph]) == indent && found_.above[paragraph] == parent;
      if (is_beside) found_.above[at] = paragraph;
      open.push_back(at);
    }
  }

  std::size_t take_diagnostic(std::size_t at) {
    if (is_empty(at)) return at + 1;
    if (const std::size_t end = take_arrow_form(at); end > at) return end;
    if (const std::size_t end = take_shellcheck(at); end > at) return end;
    if (const std::size_t end = take_place_first(at); end > at) return end;
    if (const std::size_t end = take_place_last(at); end > at) return end;
    if (const std::size_t end = take_divided(at); end > at) return end;
    if (const std::size_t end = take_headed(at); end > at) return end;
    if (auto diagnostic = read_diagnostic(lines_[at])) return take_body(at, std::move(*diagnostic));
    return at + 1;
  }

  void add(Diagnostic diagnostic, std::size_t at) {
    found_.roles[at] = Role::Diagnostic;
    found_.diagnostics.push_back(std::move(diagnostic));
    found_.diagnostic_lines.push_back(at);
  }

  // The lines below a diagnostic that belong to it: deeper ones, and source with marks below it.
  std::size_t take_body(std::size_t start, Diagnostic diagnostic) {
    const std::size_t indent = indent_of(lines_[start]);
    std::size_t at = take_wrapped(start, diagnostic);
    for (; at < lines_.size() && at < start + kMostBody && !is_empty(at); ++at) {
      const bool is_mark = is_caret_line(lines_[at]);
      const bool is_source = !is_mark && is_caret_line(line(at + 1));
      const bool is_deeper = indent_of(lines_[at]) > indent;
      if ((is_source || is_deeper) && read_diagnostic(lines_[at])) break;
      if (is_source || is_mark || is_source_row(lines_[at])) {
        found_.roles[at] = Role::Excerpt;
        continue;
      }
      if (!is_deeper || is_summary(lines_[at])) break;
      found_.roles[at] = Role::Diagnostic;
      add_said(diagnostic, trim(lines_[at]));
    }
    add(std::move(diagnostic), start);
    return at;
  }

  // Joins a message that is wrapped at the indent of its first line: mypy --pretty ends it with its
  // rule, "  [arg-type]". Returns the line behind it.
  std::size_t take_wrapped(std::size_t start, Diagnostic& diagnostic) {
    constexpr std::size_t kMostWrapped = 4;
    if (!diagnostic.rule.empty() || diagnostic.severity == Severity::Unstated) return start + 1;
    for (std::size_t at = start + 1; at < lines_.size() && at < start + kMostWrapped; ++at) {
      const bool is_same = !is_empty(at) && indent_of(lines_[at]) == indent_of(lines_[start]);
      if (!is_same || read_diagnostic(lines_[at])) break;
      Diagnostic last;
      read_message(lines_[at], last);
      const bool is_end = !last.rule.empty() && lines_[at].ends_with("  [" + last.rule + "]");
      if (!is_end) continue;
      for (std::size_t more = start + 1; more < at; ++more)
        diagnostic.message += fmt::format(" {}", trim(lines_[more]));
      diagnostic.message += fmt::format(" {}", last.message);
      diagnostic.rule = last.rule;
      for (std::size_t more = start + 1; more <= at; ++more)
        found_.roles[more] = Role::Diagnostic;
      return at + 1;
    }
    return start + 1;
  }

  // Adds a line to the message if it has none yet, as ghc's, otherwise to the detail. A rule at
  // the end of the last line is the diagnostic's.
  static void add_said(Diagnostic& diagnostic, std::string_view said) {
    Diagnostic read;
    read_message(said, read);
    const bool ends_with_rule = diagnostic.rule.empty() && !read.rule.empty() &&
                                read.severity == Severity::Unstated && said.ends_with(')') &&
                                said.starts_with(read.message);
    if (ends_with_rule) {
      diagnostic.rule = read.rule;
      said = read.message;
    }
    if (diagnostic.message.empty())
      diagnostic.message = said;
    else if (!said.empty())
      diagnostic.detail.emplace_back(said);
  }

  // "error[E1]: x", then "  --> a.rs:3:5", then source.
  std::size_t take_arrow_form(std::size_t start) {
    auto arrow = line(start + 1);
    if (!take_arrow(arrow)) return start;
    arrow = trim_right(arrow);
    if (arrow.ends_with(']')) arrow.remove_suffix(1);
    const auto place = read_place(arrow);
    if (!place || read_place(lines_[start])) return start;
    Diagnostic diagnostic;
    read_message(lines_[start], diagnostic);
    diagnostic.where = *place;
    found_.roles[start + 1] = Role::Diagnostic;
    std::size_t at = start + 2;
    for (; at < lines_.size() && at < start + kMostBody && !is_empty(at); ++at) {
      auto text = trim_left(lines_[at]);
      if (take_prefix(text, "= ")) {
        found_.roles[at] = Role::Diagnostic;
        diagnostic.detail.emplace_back(text);
        continue;
      }
      const bool has_bar = trim_left(lines_[at]).starts_with('|');
      if (!has_bar && !is_source_row(lines_[at])) break;
      found_.roles[at] = Role::Excerpt;
      if (has_bar) add_mark_text(diagnostic, lines_[at]);
    }
    add(std::move(diagnostic), start);
    return at;
  }

  // "   |  ^^^ expected `i32`": the text behind the marks.
  static void add_mark_text(Diagnostic& diagnostic, std::string_view row) {
    const auto bar = row.find('|');
    if (bar == std::string_view::npos) return;
    auto text = trim_left(row.substr(bar + 1));
    const auto marks = std::min(text.find_first_not_of("^~-"), text.size());
    if (marks == 0 || text.front() == '-' ? marks < 2 : marks == 0) return;
    text = trim(text.substr(marks));
    if (!text.empty()) diagnostic.detail.emplace_back(text);
  }

  // "a.f90:3:14:" or `File "a.ml", line 2, characters 4-9:`, source, then "Error: text" and deeper
  // lines.
  std::size_t take_place_first(std::size_t start) {
    auto where = read_place(lines_[start]);
    const auto said_place = where ? std::nullopt : read_file_place(lines_[start]);
    if (said_place) where = said_place->where;
    if (!where || !trim_right(lines_[start]).ends_with(':')) return start;
    constexpr std::size_t kMostSource = 8;
    std::size_t at = start + 1;
    while (at < lines_.size() && at < start + kMostSource &&
           (is_empty(at) || is_source_row(lines_[at]) || is_caret_line(lines_[at])))
      ++at;
    Diagnostic diagnostic;
    read_message(line(at), diagnostic);
    if (at >= lines_.size() || diagnostic.severity == Severity::Unstated) return start;
    diagnostic.where = std::move(*where);
    if (said_place && !said_place->rest.empty())
      diagnostic.message += fmt::format(" ({})", said_place->rest);
    for (std::size_t source = start + 1; source < at; ++source) {
      if (!is_empty(source)) found_.roles[source] = Role::Excerpt;
    }
    found_.roles[start] = Role::Diagnostic;
    return take_body(at, std::move(diagnostic));
  }

  // "E3006 text", then "a.yaml:3:5" alone, then a blank line.
  std::size_t take_place_last(std::size_t start) {
    const auto where = read_place(line(start + 1));
    if (!where || where->column == 0 || start + 1 >= lines_.size()) return start;
    if (start + 2 < lines_.size() && !is_empty(start + 2)) return start;
    if (indent_of(lines_[start]) > 0 || (start > 0 && !is_empty(start - 1))) return start;
    if (read_place(lines_[start]) || read_diagnostic(lines_[start])) return start;
    Diagnostic diagnostic;
    read_message(lines_[start], diagnostic);
    diagnostic.where = *where;
    found_.roles[start + 1] = Role::Diagnostic;
    add(std::move(diagnostic), start);
    return start + 2;
  }

  // A line with one path, then rows whose cells are divided by bars: "12 | ERROR | text". Between
  // them may stand rules and a total.
  std::size_t take_divided(std::size_t start) {
    constexpr std::size_t kMostBetween = 5;
    bool has_bar = false;
    for (std::size_t below = start + 1; below <= start + kMostBetween && !has_bar; ++below)
      has_bar = contains(line(below), "|");
    const auto file = has_bar ? path_in(lines_[start]) : std::string_view();
    if (file.empty()) return start;
    std::size_t at = start + 1;
    while (at < lines_.size() && at < start + kMostBetween &&
           (is_empty(at) || has_count_of(lines_[at])) && !read_divided_row(lines_[at], file))
      ++at;
    const std::size_t first = at;
    std::optional<Diagnostic> open;
    std::size_t open_line = at;
    for (; at < lines_.size() && !is_empty(at); ++at) {
      auto row = read_divided_row(lines_[at], file);
      const auto more = row ? std::string_view() : more_of_divided_row(lines_[at]);
      if (!row && (more.empty() || !open)) break;
      if (!row) {
        open->message += fmt::format(" {}", more);
        found_.roles[at] = Role::Diagnostic;
        continue;
      }
      if (open) add(std::move(*open), open_line);
      open = std::move(row);
      open_line = at;
    }
    if (open) add(std::move(*open), open_line);
    if (at == first) return start;
    for (std::size_t above = start; above < first; ++above) {
      if (!is_empty(above)) found_.roles[above] = Role::Diagnostic;
    }
    return at;
  }

  // "In a.sh line 3:", its source, then "   ^--^ SC2086 (info): text" for each diagnostic.
  std::size_t take_shellcheck(std::size_t start) {
    auto text = trim_right(lines_[start]);
    if (!take_prefix(text, "In ") || !text.ends_with(':')) return start;
    const auto gap = text.rfind(" line ");
    if (gap == std::string_view::npos) return start;
    auto number = text.substr(gap + 6);
    const auto row = take_number(number);
    if (!row || number != ":" || *row > 0xffffffffU) return start;
    const Location where{std::string(text.substr(0, gap)), static_cast<std::uint32_t>(*row), 0};
    found_.roles[start] = Role::Diagnostic;
    std::size_t at = start + 1;
    for (; at < lines_.size() && at < start + kMostBody && !is_empty(at); ++at) {
      found_.roles[at] = Role::Excerpt;
      auto said = trim_left(lines_[at]);
      const auto marks = said.find_first_not_of("^-");
      if (marks == 0 || marks == std::string_view::npos || said.front() != '^') continue;
      Diagnostic diagnostic;
      read_message(said.substr(marks), diagnostic);
      diagnostic.where = where;
      add(std::move(diagnostic), at);
    }
    if (lines_.size() > at + 1 && trim(line(at + 1)) == "Did you mean:") {
      for (++at; at < lines_.size() && !is_empty(at); ++at)
        found_.roles[at] = Role::Excerpt;
    }
    return at;
  }

  // A path alone on a line, then rows "  3:5  error  text  rule".
  std::size_t take_headed(std::size_t start) {
    auto file = trim(lines_[start]);
    if (file.ends_with(':')) file.remove_suffix(1);
    if (!is_path(file)) return start;
    const auto first = lines_.size() > start + 1 && is_empty(start + 1) ? start + 2 : start + 1;
    if (const auto below = read_diagnostic(line(first)); below && below->where.file == file) {
      found_.roles[start] = Role::Diagnostic;  // pyright names the file again in each line
      return start + 1;
    }
    std::size_t at = first;
    for (; at < lines_.size() && !is_empty(at); ++at) {
      auto row = read_row(lines_[at], file);
      if (!row) break;
      add(std::move(*row), at);
    }
    if (at == first) return start;
    found_.roles[start] = Role::Diagnostic;
    return at;
  }

  void mark(std::size_t at) {
    Role& role = found_.roles[at];
    if (role != Role::Plain) return;
    const auto text = lines_[at];
    if (is_library_frame(text)) {
      role = Role::Frame;
      return;
    }
    if (starts_error(text) || is_numbered(text) || is_placed_heading(text)) {
      role = Role::Error;
      return;
    }
    const auto look = look_at(text);
    if (look.kind == LineKind::Error)
      role = is_summary(text) ? Role::Summary : Role::Error;
    else if (is_passing(text))
      role = Role::Passing;
    else if (is_summary(text))
      role = Role::Summary;
    else if (look.kind == LineKind::Warning)
      role = Role::Warning;
  }

  // Marks what an error belongs to, and what belongs to it: the lines up to a dedent; if none is
  // deeper, or the error is an entry of a numbered list, up to the next blank line or entry.
  void mark_block(std::size_t start) {
    std::size_t up = found_.above[start];
    for (std::size_t level = 0; level < kMostLevels && up != kNone; ++level) {
      if (found_.roles[up] == Role::Plain) found_.roles[up] = Role::Heading;
      up = found_.above[up];
    }
    const std::size_t indent = indent_of(lines_[start]);
    const bool is_entry = is_numbered(lines_[start]);
    bool has_gap = false;
    std::size_t body = 0;
    std::size_t beside = 0;  // lines that are no deeper
    for (std::size_t at = start + 1; at < lines_.size() && body < kMostBody; ++at) {
      if (is_empty(at)) {
        has_gap = true;
        continue;
      }
      const bool is_deeper = indent_of(lines_[at]) > indent;
      if (is_numbered(lines_[at]) && !is_deeper) return;
      beside += is_deeper || is_continuation(lines_[at]) ? 0 : 1;
      const bool belongs =
          is_deeper || (!has_gap && beside <= kMostBeside) || (is_entry && body < 12);
      if (!belongs || found_.roles[at] == Role::Error || found_.roles[at] == Role::Passing) return;
      if (found_.roles[at] == Role::Plain)
        found_.roles[at] = is_source_row(lines_[at]) ? Role::Excerpt : Role::Body;
      ++body;
    }
  }

  Lines lines_;
  LineRoles found_;
};

}  // namespace

LineRoles find_roles(Lines lines) {
  return RoleFinder(lines).find();
}

}  // namespace nutshell::compaction
