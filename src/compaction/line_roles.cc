#include "compaction/line_roles.h"

#include <algorithm>
#include <array>

#include "compaction/diagnostic_finder.h"
#include "compaction/diagnostic_line.h"
#include "compaction/error_words.h"
#include "compaction/line_shapes.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostBody = 60;   // lines
constexpr std::size_t kMostBeside = 6;  // lines of a body that are no deeper than its error
constexpr std::size_t kMostLevels = 4;
constexpr std::size_t kNone = LineRoles::kNone;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  if (text.empty()) return false;
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) {
    return text.front() == start.front() && text.starts_with(start);
  });
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

// A line that begins an error although no word says so: "not ok 3", "✘ name", "! Undefined".
bool starts_error(std::string_view line) {
  const auto text = trim(line);
  if (starts_with_any(text, {"\xe2\x9c\x98 ", "\xe2\x9c\x97 ", "\xe2\x9c\x96 ", "\xc3\x97 ",
                             "not ok ", "\xe2\x9d\x8c", "! "}))
    return true;
  return text.ends_with("| FAIL |") || text.ends_with("(FAILED)") || text.ends_with(" [E]");
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
    find_diagnostics(lines_, found_);
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
  [[nodiscard]] bool is_empty(std::size_t at) const { return is_separator(line(at)); }

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
