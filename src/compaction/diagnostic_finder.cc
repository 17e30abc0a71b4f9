#include "compaction/diagnostic_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "compaction/diagnostic_line.h"
#include "compaction/error_words.h"
#include "compaction/line_shapes.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostBody = 60;  // lines

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

// "  > 12: code": a row of source below a diagnostic.
bool is_numbered_source(std::string_view line) {
  auto text = trim_left(line);
  if (text.size() == line.size()) return false;
  if (take_prefix(text, ">")) text = trim_left(text);
  return take_number(text) && (text.starts_with(": ") || text.starts_with(":\t"));
}

// "│ " or "┃ " in front of a line.
std::string_view bar_in_front(std::string_view line) {
  for (const std::string_view bar : {"\xe2\x94\x82 ", "\xe2\x94\x83 "}) {
    if (line.starts_with(bar)) return bar;
  }
  return line.substr(0, 0);
}

// A heavy bar stands in front of a whole list, a light one in front of one message.
bool is_heavy(std::string_view bar) {
  return bar.starts_with("\xe2\x94\x83");
}

// The place in "on main.tf line 3, in resource "x":", in "└─ lib/a.ex:3:5: A.b/1", and, if a place
// may stand there alone, in "lib/a.ex:3:5 #(A.b)".
std::optional<SaidPlace> place_below(std::string_view row, bool may_be_alone) {
  auto text = row;
  if (take_prefix(text, "on ")) {
    const auto file = take_until(text, " line ");
    const auto number = file && is_path(*file) ? take_small_number(text) : std::nullopt;
    if (!number || !(text.starts_with(":") || text.starts_with(","))) return std::nullopt;
    text = text.substr(0, text.size() - (text.ends_with(':') ? 1 : 0));
    (void)take_prefix(text, ", ");
    return SaidPlace{{std::string(*file), *number, 0}, text};
  }
  const bool is_frame_end = take_prefix(text, "\xe2\x94\x94\xe2\x94\x80 ");
  if (!is_frame_end && !may_be_alone) return std::nullopt;
  auto where = read_place(take_word(text));
  if (!where || (!is_frame_end && where->column == 0)) return std::nullopt;
  return SaidPlace{std::move(*where), trim(text)};
}

// "[error] " in front of a diagnostic and of the lines that go on about it; empty if there is none.
std::string_view level_in_front(std::string_view line) {
  const auto end = line.substr(0, 12).find("] ");
  return line.starts_with('[') && end != std::string_view::npos ? line.substr(0, end + 2)
                                                                : std::string_view();
}

class DiagnosticFinder {
 public:
  DiagnosticFinder(Lines lines, LineRoles& found) : lines_(lines), found_(found) {}

  void find() {
    for (std::size_t at = 0; at < lines_.size();)
      at = take_diagnostic(at);
  }

 private:
  [[nodiscard]] std::string_view line(std::size_t at) const {
    return at < lines_.size() ? lines_[at] : std::string_view();
  }
  [[nodiscard]] bool is_empty(std::size_t at) const { return is_separator(line(at)); }

  std::size_t take_diagnostic(std::size_t at) {
    if (is_empty(at)) return at + 1;
    if (const std::size_t end = take_arrow_form(at); end > at) return end;
    if (const std::size_t end = take_shellcheck(at); end > at) return end;
    if (const std::size_t end = take_place_first(at); end > at) return end;
    if (const std::size_t end = take_place_last(at); end > at) return end;
    if (const std::size_t end = take_divided(at); end > at) return end;
    if (const std::size_t end = take_headed(at); end > at) return end;
    if (const std::size_t end = take_line_table(at); end > at) return end;
    if (const std::size_t end = take_place_below(at); end > at) return end;
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
    if (const auto level = level_in_front(lines_[start]); !level.empty())
      at = take_behind_level(at, level, diagnostic);
    for (; at < lines_.size() && at < start + kMostBody && !is_empty(at); ++at) {
      const bool is_mark = is_caret_line(lines_[at]);
      const bool is_source = !is_mark && is_caret_line(line(at + 1));
      const bool is_deeper = indent_of(lines_[at]) > indent;
      if (is_source && is_stray(at, start)) continue;
      if ((is_source || is_deeper) && read_diagnostic(lines_[at])) break;
      if (is_source || is_mark || is_source_row(lines_[at]) || is_numbered_source(lines_[at])) {
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

  // "[error]  found: Int", "[error]   ^": lines behind the level of the diagnostic above them.
  std::size_t take_behind_level(std::size_t at, std::string_view level, Diagnostic& diagnostic) {
    for (; at < lines_.size() && lines_[at].starts_with(level); ++at) {
      const auto said = lines_[at].substr(level.size());
      const auto next = line(at + 1).starts_with(level) ? line(at + 1).substr(level.size()) : "";
      if (!said.starts_with(' ') || read_diagnostic(lines_[at])) break;
      const bool is_source = is_caret_line(said) || is_caret_line(next);
      found_.roles[at] = is_source ? Role::Excerpt : Role::Diagnostic;
      if (!is_source) add_said(diagnostic, trim(said));
    }
    return at;
  }

  // An error at the margin, between source that is indented and its marks, is another program's.
  [[nodiscard]] bool is_stray(std::size_t at, std::size_t start) const {
    return at > start + 1 && indent_of(lines_[at]) == 0 && indent_of(lines_[at + 1]) > 0 &&
           !read_diagnostic(lines_[at - 1]) && looks_like_error(lines_[at]);
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

  // The next line behind `at` that holds a bar. Asked for growing lines, it reads each line once.
  std::size_t next_bar_behind(std::size_t at) {
    next_bar_ = std::max(next_bar_, at + 1);
    while (next_bar_ < lines_.size() && !contains(lines_[next_bar_], "|"))
      ++next_bar_;
    return next_bar_ < lines_.size() ? next_bar_ : LineRoles::kNone;
  }

  // A line with one path, then rows whose cells are divided by bars: "12 | ERROR | text". Between
  // them may stand rules and a total.
  std::size_t take_divided(std::size_t start) {
    constexpr std::size_t kMostBetween = 5;
    if (next_bar_behind(start) > start + kMostBetween) return start;
    const auto file = path_in(lines_[start]);
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
    const bool has_source = trim_left(line(at + 1)).starts_with('^');
    if (has_source) found_.roles[at++] = Role::Excerpt;
    for (; at < lines_.size() && at < start + kMostBody && !is_empty(at); ++at) {
      auto said = trim_left(lines_[at]);
      const auto marks = said.find_first_not_of("^-");
      if (said.front() == '^') found_.roles[at] = Role::Excerpt;
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

  // "  Line   src/a.php", a rule, then "  12     text" with deeper lines below, as PHPStan prints
  // it.
  std::size_t take_line_table(std::size_t start) {
    if (!trim_left(lines_[start]).starts_with("Line")) return start;
    const auto words = split_words(lines_[start]);
    if (words.size() != 2 || words[0] != "Line" || !is_path(words[1])) return start;
    std::size_t at = start + 1;
    while (at < lines_.size() && is_empty(at))
      ++at;
    const std::size_t first = at;
    std::optional<Diagnostic> open;
    std::size_t open_line = at;
    for (; at < lines_.size() && !is_empty(at); ++at) {
      auto text = trim_left(lines_[at]);
      const auto number = take_small_number(text);
      if (number && text.starts_with("  ")) {
        if (open) add(std::move(*open), open_line);
        open.emplace();
        read_message(text, *open);
        open->where = {std::string(words[1]), *number, 0};
        open_line = at;
      } else if (open) {
        found_.roles[at] = Role::Diagnostic;
        add_said(*open, trim(lines_[at]));
      } else {
        break;
      }
    }
    if (open) add(std::move(*open), open_line);
    if (at == first) return start;
    found_.roles[start] = Role::Diagnostic;
    return at;
  }

  // A message whose place stands below it: "on main.tf line 3:", or at the end of a frame with
  // source. A bar may stand in front of all its lines.
  std::size_t take_place_below(std::size_t start) {
    constexpr std::size_t kMostBetween = 8;
    const auto bar = bar_in_front(lines_[start]);
    const auto said = lines_[start].substr(bar.size());
    if (!may_end_below(start, bar)) return start;
    Diagnostic diagnostic;
    read_message(said, diagnostic);
    if (diagnostic.message.empty()) return start;
    const bool is_stated = diagnostic.severity != Severity::Unstated;
    for (std::size_t at = start + 1; at < lines_.size() && at <= start + kMostBetween; ++at) {
      if (!lines_[at].starts_with(trim_right(bar))) return start;
      const auto row = trim(lines_[at].substr(std::min(bar.size(), lines_[at].size())));
      const auto place = place_below(row, !bar.empty() && at == start + 1);
      const bool is_pair = !is_stated && !bar.empty() && at == start + 1;
      if (place && (is_stated || is_pair)) return end_place_below(start, at, bar, *place);
      const bool is_between = row.empty() || is_source_row(lines_[at]);
      if (!is_stated || !is_between) return start;
    }
    return start;
  }

  // Whether the line below a message is its place, or may stand between the two.
  [[nodiscard]] bool may_end_below(std::size_t start, std::string_view bar) const {
    const auto below = line(start + 1);
    if (!below.starts_with(trim_right(bar))) return false;
    const auto row = trim(below.substr(std::min(bar.size(), below.size())));
    return row.empty() || is_source_row(below) || place_below(row, !bar.empty());
  }

  std::size_t end_place_below(std::size_t start, std::size_t end, std::string_view bar,
                              const SaidPlace& place) {
    Diagnostic diagnostic;
    read_message(lines_[start].substr(bar.size()), diagnostic);
    diagnostic.where = place.where;
    if (!place.rest.empty()) diagnostic.message += fmt::format(" ({})", place.rest);
    for (std::size_t at = start + 1; at <= end; ++at) {
      if (!is_empty(at)) found_.roles[at] = at == end ? Role::Diagnostic : Role::Excerpt;
    }
    std::size_t at = end + 1;
    for (; at < lines_.size() && at < end + kMostBody && !is_empty(at); ++at) {
      const bool is_inside = !bar.empty() && lines_[at].starts_with(trim_right(bar));
      const auto row = lines_[at].substr(is_inside ? trim_right(bar).size() : 0);
      const bool is_source = is_numbered_source(row);
      if (!is_source && (!is_inside || is_heavy(bar))) break;
      found_.roles[at] = is_source ? Role::Excerpt : Role::Diagnostic;
      if (!is_source) add_said(diagnostic, trim(row));
    }
    add(std::move(diagnostic), start);
    return at;
  }

  Lines lines_;
  LineRoles& found_;
  std::size_t next_bar_ = 0;
};

}  // namespace

void find_diagnostics(Lines lines, LineRoles& found) {
  DiagnosticFinder(lines, found).find();
}

}  // namespace nutshell::compaction
