#include "compaction/diagnostic_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestCode = 60;

bool is_letter(char character) {
  const char small = static_cast<char>(character | 0x20);
  return small >= 'a' && small <= 'z';
}

bool is_upper(char character) {
  return character >= 'A' && character <= 'Z';
}

// "-9" and "-4:9" behind a position: the end of a range.
void skip_range_end(std::string_view& text) {
  auto rest = text;
  if (!take_prefix(rest, "-") || !take_small_number(rest)) return;
  text = rest;
  if (take_prefix(rest, ":") && take_small_number(rest)) text = rest;
}

// "3:5" or "3" behind "path:"; the text goes on behind it, at ':', a blank or the end.
bool take_line_and_column(std::string_view& text, Location& where) {
  auto rest = text;
  const auto line = take_small_number(rest);
  if (!line || *line == 0) return false;
  where.line = *line;
  auto behind = rest;
  if (take_prefix(behind, ":")) {
    if (const auto column = take_small_number(behind)) {
      where.column = *column;
      rest = behind;
    }
  }
  skip_range_end(rest);
  if (!rest.empty() && rest.front() != ':' && rest.front() != ' ') return false;
  text = rest;
  return true;
}

// Takes "path:3:5" off the start of the text.
std::optional<Location> take_colon_place(std::string_view& text) {
  const bool has_drive = text.size() > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/');
  const auto colon = text.substr(0, kLongestPath).find(':', has_drive ? 2 : 0);
  if (colon == std::string_view::npos || !is_path(text.substr(0, colon))) return std::nullopt;
  Location where{std::string(text.substr(0, colon)), 0, 0};
  auto rest = text.substr(colon + 1);
  if (!take_line_and_column(rest, where)) return std::nullopt;
  text = rest;
  return where;
}

// Takes "path(3,5)" or "path(3)" off the start of the text; ": " must follow.
std::optional<Location> take_bracket_place(std::string_view& text) {
  const auto bracket = text.substr(0, kLongestPath).find('(');
  if (bracket == std::string_view::npos || !is_path(text.substr(0, bracket))) return std::nullopt;
  auto rest = text.substr(bracket + 1);
  const auto line = take_small_number(rest);
  if (!line || *line == 0) return std::nullopt;
  Location where{std::string(text.substr(0, bracket)), *line, 0};
  if (take_prefix(rest, ",")) {
    const auto column = take_small_number(rest);
    if (!column) return std::nullopt;
    where.column = *column;
    while (take_prefix(rest, ",") && take_small_number(rest)) {
    }  // the end of a range
  }
  if (!take_prefix(rest, ")") || !rest.starts_with(":")) return std::nullopt;
  text = rest;
  return where;
}

struct SeverityWord {
  std::string_view word;  // in small letters
  Severity severity;
};
constexpr std::array<SeverityWord, 22> kSeverities = {
    {{"fatal error", Severity::Error},   {"error", Severity::Error},
     {"err", Severity::Error},           {"fatal", Severity::Error},
     {"critical", Severity::Error},      {"severe", Severity::Error},
     {"warning", Severity::Warning},     {"warn", Severity::Warning},
     {"note", Severity::Note},           {"notice", Severity::Note},
     {"information", Severity::Note},    {"info", Severity::Note},
     {"hint", Severity::Note},           {"help", Severity::Note},
     {"remark", Severity::Note},         {"style", Severity::Warning},
     {"performance", Severity::Warning}, {"portability", Severity::Warning},
     {"convention", Severity::Warning},  {"refactor", Severity::Warning},
     {"suggestion", Severity::Note},     {"debug", Severity::Note}}};

bool starts_with_word(std::string_view text, std::string_view small) {
  if (text.size() < small.size()) return false;
  const bool is_same =
      std::equal(small.begin(), small.end(), text.begin(), [](char want, char have) {
        return want == (is_upper(have) ? static_cast<char>(have | 0x20) : have);
      });
  return is_same && (text.size() == small.size() || !is_letter(text[small.size()]));
}

void set_severity(Diagnostic& diagnostic, Severity severity, std::string_view printed) {
  diagnostic.severity = severity;
  const bool is_usual = printed == "error" || printed == "warning" || printed == "note";
  diagnostic.word = is_usual ? "" : std::string(printed);
}

// "E: ", "C: " of rubocop and others: the letter is the severity.
bool take_letter_severity(std::string_view& text, Diagnostic& diagnostic) {
  if (text.size() < 3 || text[1] != ':' || text[2] != ' ') return false;
  constexpr std::string_view kLetters = "EFWCRIN";
  if (kLetters.find(text.front()) == std::string_view::npos) return false;
  const bool is_error = text.front() == 'E' || text.front() == 'F';
  set_severity(diagnostic, is_error ? Severity::Error : Severity::Warning, text.substr(0, 1));
  text.remove_prefix(3);
  return true;
}

// "E501", "SC2086", "MD013/line-length", "GHC-88464", "F401": capitals, then digits.
bool is_code(std::string_view word) {
  if (word.size() < 2 || word.size() > kLongestCode || !is_upper(word.front())) return false;
  std::size_t letters = 0;
  while (letters < word.size() && is_upper(word[letters]))
    ++letters;
  if (letters > 12) return false;
  std::size_t at = letters < word.size() && word[letters] == '-' ? letters + 1 : letters;
  const std::size_t first_digit = at;
  while (at < word.size() && is_digit(word[at]))
    ++at;
  if (at < first_digit + 2) return false;
  return at == word.size() || word[at] == '/';
}

// "Layout/LineLength", "no-undef", "reportCallIssue", "ref.ref", "-Wunused": a rule's name.
bool is_rule_name(std::string_view word) {
  if (word.size() < 3 || word.size() > kLongestCode) return false;
  const auto is_part = [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("-_./@=+,:").find(c) != std::string_view::npos;
  };
  const bool is_name = std::all_of(word.begin(), word.end(), is_part);
  return is_name && std::any_of(word.begin(), word.end(), is_letter) && !word.ends_with('.') &&
         !word.ends_with(':') && !word.starts_with('/') && !word.starts_with("./");
}

// Returns whether the text starts with "E501 ", "CS1002: ", "[E0308]: " or "Layout/LineLength: ".
bool starts_with_code(std::string_view text) {
  auto rest = text;
  const bool is_bracketed = take_prefix(rest, "[");
  const auto end = rest.find_first_of(is_bracketed ? "]" : " :");
  const auto word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  if (is_bracketed && !take_prefix(rest, "]")) return false;
  const bool has_colon = take_prefix(rest, ":");
  const bool is_cop = has_colon && contains(word, "/") && is_rule_name(word) && is_upper(word[0]);
  return is_code(word) || is_cop || (is_bracketed && is_rule_name(word));
}

// Returns whether a severity may end before `rest`. A single blank before other words is that of a
// message which only begins with such a word: "Error return value of x is not checked".
bool ends_severity(std::string_view rest) {
  if (rest.empty() || rest.front() == ':' || rest.front() == '[') return true;
  if (rest.front() == '\t' || rest.starts_with("  ")) return true;
  if (rest == " " || rest.starts_with(" - ")) return true;
  return take_prefix(rest, " ") && starts_with_code(rest);
}

// "error: ", "[error] ", "(error) ", "Error - ", "error CS1002: ", "error  ": leaves what follows.
bool take_severity(std::string_view& text, Diagnostic& diagnostic) {
  if (diagnostic.severity != Severity::Unstated) return false;
  auto rest = text;
  const bool is_bracketed = take_prefix(rest, "[") || take_prefix(rest, "(");
  for (const SeverityWord& one : kSeverities) {
    if (!starts_with_word(rest, one.word)) continue;
    const auto printed = rest.substr(0, one.word.size());
    rest.remove_prefix(one.word.size());
    if (is_bracketed && !take_prefix(rest, "]") && !take_prefix(rest, ")")) return false;
    if (!is_bracketed && !ends_severity(rest)) return false;
    set_severity(diagnostic, one.severity, printed);
    (void)take_prefix(rest, ":");
    rest = trim_left(rest);
    (void)take_prefix(rest, "- ");
    text = trim_left(rest);
    return true;
  }
  return take_letter_severity(text, diagnostic);
}

// "(colon)" ends a sentence; "(line-length)", "(reportCallIssue)" and "[arg-type]" are rules.
bool is_surely_rule(std::string_view word) {
  if (!is_rule_name(word)) return false;
  const bool is_joined = word.find_first_of("-/._") != std::string_view::npos;
  const bool is_camel = std::any_of(word.begin() + 1, word.end(), is_upper);
  return is_joined || is_camel;
}

// Takes "  [code]", " (rule)" or the last of several columns off the end.
void take_trailing_rule(std::string_view& text, Diagnostic& diagnostic) {
  const auto whole = trim_right(text);
  const char last = whole.empty() ? ' ' : whole.back();
  const bool is_bracketed = last == ']' || last == ')';
  const auto start = is_bracketed ? whole.rfind(last == ']' ? '[' : '(') : whole.rfind("  ");
  if (start == std::string_view::npos || start == 0) return;
  if (is_bracketed && whole[start - 1] != ' ') return;
  const auto word =
      is_bracketed ? whole.substr(start + 1, whole.size() - start - 2) : whole.substr(start + 2);
  const bool is_apart = !is_bracketed || whole.substr(0, start).ends_with("  ");
  if (!is_surely_rule(word) && !(is_apart && is_rule_name(word))) return;
  diagnostic.rule = word;
  text = trim_right(whole.substr(0, start));
}

// "SC2086" in "SC2086 (info): x"
std::optional<std::string> code_before_severity(std::string_view text) {
  auto rest = text;
  const auto word = take_word(rest);
  if (!is_code(word)) return std::nullopt;
  Diagnostic probe;
  probe.severity = Severity::Unstated;
  if (!take_severity(rest, probe)) return std::nullopt;
  return std::string(word);
}

// "src/a.pl: text at line 3, column 5.  more"
std::optional<Diagnostic> read_sentence(std::string_view text) {
  const auto colon = text.substr(0, kLongestPath).find(": ");
  if (colon == std::string_view::npos || !is_path(text.substr(0, colon))) return std::nullopt;
  constexpr std::string_view kAt = " at line ";
  const auto at = text.find(kAt, colon);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = text.substr(at + kAt.size());
  const auto line = take_small_number(rest);
  if (!line || !take_prefix(rest, ", column ")) return std::nullopt;
  const auto column = take_small_number(rest);
  if (!column || !take_prefix(rest, ".")) return std::nullopt;
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Unstated;
  diagnostic.where = {std::string(text.substr(0, colon)), *line, *column};
  diagnostic.message = trim(text.substr(colon + 2, at - colon - 2));
  if (!is_blank(rest)) diagnostic.message += fmt::format(". {}", trim(rest));
  return diagnostic;
}

// "file:///src/a.kt" is a path, too.
std::optional<Location> take_place(std::string_view& text) {
  auto rest = text;
  (void)take_prefix(rest, "file://");
  auto where = take_colon_place(rest);
  if (where) text = rest;
  return where;
}

// "[error] src/a.scala:3:5: text", "error: a.c:3: text", "%Warning-WIDTH: a.v:3:5: text": the
// severity stands in front of the place.
std::optional<Diagnostic> read_level_first(std::string_view text) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Unstated;
  if (take_prefix(text, "%")) {
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    const auto dash = text.substr(0, colon).find('-');
    auto level = fmt::format("{}:", text.substr(0, std::min(dash, colon)));
    if (std::string_view rest = level; !take_severity(rest, diagnostic)) return std::nullopt;
    diagnostic.word.clear();
    if (dash != std::string_view::npos) diagnostic.rule = text.substr(dash + 1, colon - dash - 1);
    text.remove_prefix(colon + 2);
  } else if (!take_severity(text, diagnostic)) {
    return std::nullopt;
  }
  auto where = take_place(text);
  if (!where || !take_prefix(text, ":") || is_blank(text)) return std::nullopt;
  diagnostic.where = std::move(*where);
  diagnostic.message = trim(text);
  return diagnostic;
}

// "[/src/a.go:12] - G104 (CWE-703): text"
std::optional<Diagnostic> read_place_in_brackets(std::string_view text) {
  const auto end = text.substr(0, kLongestPath).find("] ");
  if (!text.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  auto where = read_place(text.substr(1, end - 1));
  if (!where) return std::nullopt;
  Diagnostic diagnostic;
  read_message(text.substr(end + 2), diagnostic);
  if (diagnostic.message.empty()) return std::nullopt;
  diagnostic.where = std::move(*where);
  return diagnostic;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view divider) {
  std::vector<std::string_view> cells;
  for (auto at = text.find(divider); at != std::string_view::npos; at = text.find(divider)) {
    cells.push_back(trim(text.substr(0, at)));
    text.remove_prefix(at + divider.size());
  }
  cells.push_back(trim(text));
  return cells;
}

// "error • text • lib/a.dart:3:5 • rule", "ERROR: Rule - src/a.php:3:5 - text": a severity, then
// cells of which one is the place.
std::optional<Diagnostic> read_cells(std::string_view text, std::string_view divider) {
  const auto cells = split_at(text, divider);
  constexpr std::size_t kFewest = 3;
  constexpr std::size_t kMost = 12;
  if (cells.size() < kFewest || cells.size() > kMost) return std::nullopt;
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Unstated;
  auto head = cells.front();
  if (!take_severity(head, diagnostic)) return std::nullopt;
  diagnostic.rule = head;
  std::size_t last = cells.size();
  if (cells.size() > kFewest && is_rule_name(cells.back()) && diagnostic.rule.empty())
    diagnostic.rule = cells[--last];
  for (std::size_t at = 1; at < last; ++at) {
    auto where = diagnostic.where.file.empty() ? read_place(cells[at]) : std::nullopt;
    if (where) {
      diagnostic.where = std::move(*where);
      continue;
    }
    if (!diagnostic.message.empty()) diagnostic.message += divider;
    diagnostic.message += cells[at];
  }
  if (diagnostic.where.file.empty() || diagnostic.message.empty()) return std::nullopt;
  return diagnostic;
}

// Diagnostics whose place is not the first word.
std::optional<Diagnostic> read_marked(std::string_view text) {
  if (text.empty() || !contains(text, ":")) return std::nullopt;
  if (text.front() == '[') {
    if (auto found = read_place_in_brackets(text)) return found;
  }
  if (auto found = read_level_first(text)) return found;
  if (contains(text, " - ")) {
    if (auto found = read_cells(text, " - ")) return found;
  }
  constexpr std::string_view kBullet = " \xe2\x80\xa2 ";
  return contains(text, kBullet) ? read_cells(text, kBullet) : std::nullopt;
}

}  // namespace

bool is_path(std::string_view text) {
  if (text.size() < 2 || text.size() > kLongestPath) return false;
  if (text.find_first_of(" \t\"'<>|*?,;=") != std::string_view::npos) return false;
  if (text.starts_with("//") || contains(text, "://")) return false;  // a URL, or a part of one
  const auto name = text.substr(text.rfind('/') + 1);                 // npos + 1 is 0
  const auto dot = name.rfind('.');
  const bool has_extension = dot != std::string_view::npos && dot + 1 < name.size() &&
                             name.size() - dot <= 12 && is_letter(name[dot + 1]);
  if (has_extension) return true;
  const bool has_directory = name.size() < text.size() && !name.empty() && !contains(text, "//");
  return has_directory || name.ends_with("file");  // Makefile, Dockerfile, Rakefile, Gemfile …
}

bool is_caret_line(std::string_view line) {
  constexpr std::string_view kMarks = "^~-|\xe2\x94\x82 \t.";
  const bool has_mark = contains(line, "^") || contains(line, "~~");
  return has_mark && std::all_of(line.begin(), line.end(), [&](char c) {
           return kMarks.find(c) != std::string_view::npos || is_digit(c);
         });
}

std::optional<Location> read_place(std::string_view text) {
  text = trim(text);
  auto where = take_colon_place(text);
  if (!where || !(text.empty() || text == ":")) return std::nullopt;
  return where;
}

void read_message(std::string_view text, Diagnostic& diagnostic) {
  text = trim(text);
  (void)take_prefix(text, "- ");
  diagnostic.severity = Severity::Unstated;
  constexpr std::array<std::string_view, 4> kCrosses = {"\xe2\x9c\x96", "\xc3\x97", "\xe2\x9c\x98",
                                                        "\xe2\x9a\xa0"};
  for (const auto cross : kCrosses) {
    if (!text.starts_with(cross)) continue;
    set_severity(diagnostic, cross == kCrosses[3] ? Severity::Warning : Severity::Error, cross);
    text = trim_left(text.substr(cross.size()));
  }
  (void)take_severity(text, diagnostic);
  (void)take_prefix(text, ": ");
  if (const auto code = code_before_severity(text)) {  // "DL3006 warning: x", "SC2086 (info): x"
    text.remove_prefix(code->size());
    text = trim_left(text);
    (void)take_severity(text, diagnostic);
    take_trailing_rule(text, diagnostic);
    diagnostic.message = fmt::format("{} {}", *code, trim(text));
    return;
  }
  if (text.starts_with("[*] ") || starts_with_code(text)) {
    diagnostic.message = text;
    const auto with_rule = text;
    take_trailing_rule(text, diagnostic);
    if (text.size() < with_rule.size()) diagnostic.message = trim(text);
    return;
  }
  take_trailing_rule(text, diagnostic);
  diagnostic.message = trim(text);
}

std::optional<SaidPlace> read_file_place(std::string_view line) {
  auto text = trim(line);
  if (!take_prefix(text, "File \"")) return std::nullopt;
  const auto file = take_until(text, "\", line ");
  if (!file) return std::nullopt;
  const auto number = take_small_number(text);
  if (!number || !text.ends_with(':')) return std::nullopt;
  text.remove_suffix(1);
  (void)take_prefix(text, ", ");
  return SaidPlace{{std::string(*file), *number, 0}, text};
}

std::string_view path_in(std::string_view line) {
  constexpr std::size_t kMostWords = 4;
  const auto words = split_words(line);
  if (words.size() > kMostWords) return {};
  std::string_view found;
  for (auto word : words) {
    constexpr std::string_view kAround = "[]()'\":=";
    const auto start = word.find_first_not_of(kAround);
    if (start == std::string_view::npos) continue;
    word = word.substr(start, word.find_last_not_of(kAround) - start + 1);
    if (!is_path(word)) continue;
    if (!found.empty()) return {};
    found = word;
  }
  return found;
}

std::optional<Diagnostic> read_divided_row(std::string_view line, std::string_view file) {
  const auto cells = split(line, '|');
  constexpr std::size_t kFewestCells = 3;
  if (cells.size() < kFewestCells) return std::nullopt;
  const auto number_of = [](std::string_view cell) -> std::optional<std::uint32_t> {
    cell = trim(cell);
    const bool is_named = cell.size() > 2 && is_letter(cell[0]) && cell[1] == ':';  // "L:  12"
    if (is_named) cell = trim(cell.substr(2));
    const auto number = take_small_number(cell);
    return cell.empty() ? number : std::nullopt;
  };
  const auto row = number_of(cells[0]);
  if (!row || *row == 0) return std::nullopt;
  const auto column = number_of(cells[1]);
  Diagnostic diagnostic;
  const std::size_t first = column ? 2 : 1;
  std::string said;
  for (std::size_t at = first; at < cells.size(); ++at) {
    const auto before = at == first ? "" : at == first + 1 ? "  " : " | ";
    said += fmt::format("{}{}", before, trim(cells[at]));
  }
  if (said.empty()) return std::nullopt;
  read_message(said, diagnostic);
  diagnostic.where = {std::string(file), *row, column.value_or(0)};
  return diagnostic;
}

std::string_view more_of_divided_row(std::string_view line) {
  const auto bar = line.rfind('|');
  if (bar == std::string_view::npos) return {};
  const bool is_open = line.substr(0, bar).find_first_not_of(" \t|") == std::string_view::npos;
  return is_open ? trim(line.substr(bar + 1)) : std::string_view();
}

std::optional<Diagnostic> read_diagnostic(std::string_view line) {
  auto text = trim(line);
  if (auto marked = read_marked(text)) return marked;
  if (auto said = indent_of(line) == 0 ? read_sentence(text) : std::nullopt) return said;
  auto where = take_colon_place(text);
  if (!where) where = take_bracket_place(text);
  if (!where) return std::nullopt;
  (void)take_prefix(text, ":");
  const bool is_heading = contains(text, "\xe2\x94\x81\xe2\x94\x81") ||  // heavy and light bars
                          contains(text, "\xe2\x94\x80\xe2\x94\x80");
  if (is_blank(text) || is_heading) return std::nullopt;
  Diagnostic diagnostic;
  diagnostic.where = std::move(*where);
  read_message(text, diagnostic);
  // Without a severity or a rule, an indented line may as well be a frame or part of a message.
  const bool is_indented = indent_of(line) > 0;
  const bool is_stated = diagnostic.severity != Severity::Unstated ||
                         (diagnostic.where.column > 0 && !diagnostic.rule.empty());
  if (is_indented && !is_stated) return std::nullopt;
  return diagnostic;
}

std::optional<Diagnostic> read_row(std::string_view line, std::string_view file) {
  auto text = trim_left(line);
  Location where{std::string(file), 0, 0};
  if (!take_line_and_column(text, where) || where.column == 0) return std::nullopt;
  if (!text.starts_with(" ") && !text.starts_with(":")) return std::nullopt;
  (void)take_prefix(text, ":");
  if (is_blank(text)) return std::nullopt;
  Diagnostic diagnostic;
  diagnostic.where = std::move(where);
  read_message(text, diagnostic);
  return diagnostic;
}

}  // namespace nutshell::compaction
