#include "compaction/parsers/gcc_diagnostics.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostNotes = 12;  // of one diagnostic; overload lists can be endless

bool is_system_file(std::string_view file) {
  return file.starts_with("/usr/") || file.starts_with("/opt/") || file.starts_with("/Library/") ||
         file.starts_with("/Applications/") || contains(file, "/include/c++/");
}

// "  408 |     code", "      |     ^~~~" and, from gcc 13 on, "  +++ |+#include <x>"
bool is_numbered_excerpt(std::string_view line) {
  if (!line.starts_with(' ')) return false;
  auto rest = trim_left(line);
  while (!rest.empty() && (is_digit(rest.front()) || rest.front() == '+'))
    rest.remove_prefix(1);
  return rest.starts_with(" |") || rest.starts_with("|");
}

bool is_caret_line(std::string_view line) {
  bool has_mark = false;
  for (const char character : line) {
    if (character == '^' || character == '~')
      has_mark = true;
    else if (character != ' ' && character != '\t' && character != '|' && character != '-')
      return false;
  }
  return has_mark;
}

void take_excerpt(LineCursor& cursor, Ledger& ledger) {
  std::uint64_t lines = 0;
  while (is_numbered_excerpt(cursor.line())) {
    cursor.advance();
    ++lines;
  }
  // The older form: the source line as it is, marks below it, then perhaps what to write instead.
  if (lines == 0 && !cursor.done() && is_caret_line(cursor.peek(1))) {
    cursor.advance(2);
    lines = 2;
    const bool is_fix = cursor.line().starts_with("  ") && !split_location(cursor.line());
    if (is_fix) cursor.advance();
    lines += is_fix ? 1 : 0;
  }
  ledger.omit("code excerpts", lines);
}

// The kinds of lines above a diagnostic that say how the compiler got there.
enum class Lead : std::uint8_t { None, Includes, Scope, Instantiation };

bool is_instantiation(std::string_view text) {
  return text.starts_with("required ") || text.starts_with("recursively required ") ||
         text.starts_with("instantiated from ") || text.starts_with("in 'constexpr' expansion") ||
         text.starts_with("in ‘constexpr’ expansion");
}

Lead lead_of(std::string_view line) {
  if (line.starts_with("In file included from ") || line.starts_with("In module imported at "))
    return Lead::Includes;
  if (line.starts_with("     ") && trim_left(line).starts_with("from ")) return Lead::Includes;
  if (line.ends_with(':')) {
    constexpr std::array<std::string_view, 9> kScopes = {
        ": In function ",        ": In member function ", ": In instantiation of ",
        ": At global scope:",    ": At top level:",       ": In constructor ",
        ": In substitution of ", ": In lambda function:", ": In "};
    for (const auto scope : kScopes) {
      if (contains(line, scope)) return Lead::Scope;
    }
    if (line.starts_with("In function ") || line.starts_with("In member function "))
      return Lead::Scope;
  }
  if (!contains(line, ":   ")) return Lead::None;
  const auto located = split_location(line);
  return located && is_instantiation(located->rest) ? Lead::Instantiation : Lead::None;
}

// "[-Wunused-variable]", "[-Werror,-Wformat]" or "[bugprone-branch-clone]" at the end.
void take_rule(Diagnostic& diagnostic) {
  const std::string_view message = diagnostic.message;
  if (!message.ends_with(']')) return;
  const auto open = message.rfind(" [");
  if (open == std::string_view::npos) return;
  const auto rule = message.substr(open + 2, message.size() - open - 3);
  if (rule.empty() || contains(rule, " ") || !contains(rule, "-")) return;
  diagnostic.rule = rule;
  diagnostic.message.resize(open);
}

bool is_note_of(const Diagnostic& note) {
  return note.severity == Severity::Note;
}

// Counts a note. Some say "failed" (a template's deduction) and report no failure.
void omit_note(const LocatedText& note, Ledger& ledger) {
  const bool is_system = is_system_file(note.where.file);
  ledger.omit_line(is_system ? "notes in system headers" : "notes", note.rest);
}

// Notes explain the diagnostic above them; those inside the compiler's own headers rarely do.
void take_notes(LineCursor& cursor, Ledger& ledger, Diagnostic* owner) {
  std::size_t taken = 0;
  while (!cursor.done()) {
    const auto located = split_location(cursor.line());
    auto note = located ? severity_message(located->rest) : std::nullopt;
    if (!note || !is_note_of(*note)) {
      // An include chain or a scope may stand between a diagnostic and its notes.
      const auto start = cursor.position();
      std::uint64_t leads = 0;
      for (; lead_of(cursor.line()) == Lead::Includes; cursor.advance())
        ++leads;
      const auto behind = split_location(cursor.line());
      const auto next = behind ? severity_message(behind->rest) : std::nullopt;
      if (leads > 0 && next && is_note_of(*next)) {
        ledger.omit("include chains", leads);
        continue;
      }
      cursor.move_to(start);
      return;
    }
    const bool is_shown =
        owner != nullptr && taken < kMostNotes && !is_system_file(located->where.file);
    if (is_shown) {
      owner->detail.push_back(to_text(located->where) + ": note: " + note->message);
      ++taken;
    } else {
      omit_note(*located, ledger);
    }
    cursor.advance();
    take_excerpt(cursor, ledger);
  }
}

// The way into the template, as far as it is the user's own code.
std::vector<std::string> take_leads(LineCursor& cursor, Ledger& ledger) {
  std::vector<std::string> instantiations;
  for (auto lead = lead_of(cursor.line()); lead != Lead::None; lead = lead_of(cursor.line())) {
    if (lead == Lead::Instantiation) {
      const auto located = split_location(cursor.line());
      const bool is_users = !is_system_file(located->where.file);
      if (is_users) instantiations.push_back("required from " + to_text(located->where));
      if (!is_users) ledger.omit("template backtraces");
    } else {
      ledger.omit(lead == Lead::Includes ? "include chains" : "scope lines");
    }
    cursor.advance();
    take_excerpt(cursor, ledger);  // gcc 14 shows code for each instantiation
  }
  return instantiations;
}

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "/usr/bin/ld: " or "collect2: " taken off; the program's name, or nothing.
std::string_view take_program(std::string_view& line) {
  const auto colon = line.substr(0, 256).find(": ");
  if (colon == std::string_view::npos || contains(line.substr(0, colon), " ")) return {};
  const auto program = line.substr(0, colon);
  if (!is_compiler_program(program)) return {};
  line.remove_prefix(colon + 2);
  return program;
}

bool is_linker_complaint(std::string_view text) {
  return contains(text, "undefined reference to ") || contains(text, "multiple definition of ") ||
         contains(text, "undefined symbol") || contains(text, "cannot find ") ||
         contains(text, "first defined here") || contains(text, "duplicate symbol");
}

bool is_linker(std::string_view program) {
  const auto name = base_name(program);
  return name == "lld" || name == "mold" || name == "ld" || name.starts_with("ld.") ||
         name.ends_with("-ld") || contains(name, "-ld.");
}

// "l1.cc:(.text+0x41): undefined reference to `S::m()'": a file and no line.
std::pair<Location, std::string_view> split_section(std::string_view text) {
  const auto section = text.find(":(");
  const auto end = section == std::string_view::npos ? section : text.find("): ", section);
  if (end == std::string_view::npos) return {{}, text};
  return {{std::string(text.substr(0, section)), 0, 0}, text.substr(end + 3)};
}

Diagnostic linker_diagnostic(std::string_view text) {
  if (auto located = split_location(text)) {
    auto diagnostic = severity_message(located->rest)
                          .value_or(make_diagnostic(Severity::Error, {}, located->rest));
    diagnostic.where = std::move(located->where);
    return diagnostic;
  }
  auto [where, rest] = split_section(text);
  // "main.o: warning: text": the severity word stands behind an object file.
  for (const std::string_view word : {": warning: ", ": error: "}) {
    const auto at = where.file.empty() ? rest.find(word) : std::string_view::npos;
    if (at == std::string_view::npos || contains(rest.substr(0, at), " ")) continue;
    where.file = rest.substr(0, at);
    rest.remove_prefix(at + 2);
  }
  auto diagnostic = severity_message(rest).value_or(make_diagnostic(Severity::Error, {}, rest));
  diagnostic.where = std::move(where);
  return diagnostic;
}

// "/tmp/ccq1.o:(main)": the driver's own object, gone by now. What is left is the function.
std::optional<std::string_view> function_in_temporary(std::string_view text) {
  const auto function = text.find(".o:(");
  if (!text.starts_with("/tmp/") || function == std::string_view::npos) return std::nullopt;
  if (!text.ends_with(')') || contains(text, ">>>")) return std::nullopt;
  text.remove_prefix(function + 4);
  text.remove_suffix(1);
  return text;
}

// "referenced by a.cpp:9 (/src/a.cpp:9)" says its place twice: the whole path stays.
std::string reference_of(std::string_view text) {
  const auto open = text.rfind(" (");
  if (open == std::string_view::npos || !text.ends_with(')')) return std::string(text);
  const auto whole = text.substr(open + 2, text.size() - open - 3);
  const auto blank = text.rfind(' ', open - 1);
  if (open == 0 || blank == std::string_view::npos) return std::string(text);
  const auto brief = text.substr(blank + 1, open - blank - 1);
  const bool is_twice = whole.ends_with(brief) && contains(brief, ":");
  return is_twice ? std::string(text.substr(0, blank + 1)).append(whole) : std::string(text);
}

// gold's second line, "/usr/bin/ld.gold: a.o: previous definition here", belongs to the diagnostic
// above it. An object below /tmp is the driver's own and gone by now, so it is left out.
void take_previous_definition(LineCursor& cursor, Ledger& ledger,
                              std::vector<std::string>& detail) {
  auto text = cursor.line();
  if (take_program(text).empty() || !text.ends_with(": previous definition here")) return;
  const bool is_temporary = text.starts_with("/tmp/") && contains(text, ".o: ");
  if (is_temporary)
    ledger.omit_line("temporary objects", text);
  else
    detail.emplace_back(text);
  cursor.advance();
}

void add_linker_diagnostic(LineCursor& cursor, Ledger& ledger, Diagnostic diagnostic) {
  auto& detail = diagnostic.detail;
  cursor.advance();
  for (; cursor.line().starts_with(">>> "); cursor.advance()) {
    const auto text = trim(cursor.line().substr(4));
    const auto function = function_in_temporary(text);
    if (!function || detail.empty()) {
      detail.push_back(reference_of(text));
      continue;
    }
    detail.back().append(" in ").append(*function);
    ledger.omit_line("temporary objects", text);
  }
  take_previous_definition(cursor, ledger, detail);
  const bool is_error = diagnostic.severity == Severity::Error;
  const bool is_new = ledger.add(std::move(diagnostic)) == Ledger::Entry::New;
  if (is_new && is_error) ledger.note_linker_error();
}

// "collect2: error: ld returned 1 exit status" and clang's "linker command failed with exit code 1"
// only pass on that the linker failed: they are no errors of their own.
bool is_passed_on(std::string_view line) {
  return (contains(line, "error: ") && contains(line, " returned ") &&
          line.ends_with(" exit status")) ||
         contains(line, ": error: linker command failed with exit code ") ||
         contains(line, ": error: linker command failed due to signal");
}

}  // namespace

bool is_compiler_program(std::string_view path) {
  auto name = base_name(path);
  if (name == "collect2" || name == "cc1" || name == "cc1plus" || name == "lto1") return true;
  // Names of cross compilers have a triple in front and a version at the end.
  while (!name.empty() && (is_digit(name.back()) || name.back() == '.'))
    name.remove_suffix(1);
  if (name.ends_with('-')) name.remove_suffix(1);
  constexpr std::array<std::string_view, 18> kPrograms = {
      "gcc",    "g++", "cc",   "c++", "clang", "clang++", "ld",       "ld.bfd",  "ld.gold",
      "ld.lld", "lld", "mold", "as",  "ar",    "ranlib",  "gfortran", "wasm-ld", "lto-wrapper"};
  if (name.empty()) return false;
  for (const auto program : kPrograms) {
    if (name.back() != program.back()) continue;
    if (name == program) return true;
    const bool has_triple = name.size() > program.size() && name.ends_with(program) &&
                            name[name.size() - program.size() - 1] == '-';
    if (has_triple && program.size() > 1) return true;
  }
  return false;
}

std::optional<Diagnostic> severity_message(std::string_view text) {
  struct Word {
    std::string_view text;
    Severity severity;
    bool is_shown;  // it says more than the severity
  };
  constexpr std::array<Word, 8> kWords = {{{"error: ", Severity::Error, false},
                                           {"warning: ", Severity::Warning, false},
                                           {"note: ", Severity::Note, false},
                                           {"fatal error: ", Severity::Error, false},
                                           {"internal compiler error: ", Severity::Error, true},
                                           {"sorry, unimplemented: ", Severity::Error, true},
                                           {"runtime error: ", Severity::Error, true},
                                           {"remark: ", Severity::Note, false}}};
  // rustc's short form: "error[E0308]: text"
  if (auto rest = text; take_prefix(rest, "error[")) {
    const auto code = take_until(rest, "]: ");
    if (!code) return std::nullopt;
    auto diagnostic = make_diagnostic(Severity::Error, {}, trim(rest));
    diagnostic.rule = *code;
    return diagnostic;
  }
  for (const auto& word : kWords) {
    if (!text.starts_with(word.text)) continue;
    const auto message = word.is_shown ? text : text.substr(word.text.size());
    auto diagnostic = make_diagnostic(word.severity, {}, trim(message));
    take_rule(diagnostic);
    return diagnostic;
  }
  return std::nullopt;
}

bool take_gcc_diagnostic(LineCursor& cursor, Ledger& ledger) {
  const auto start = cursor.position();
  const bool is_substitution = contains(cursor.line(), ": In substitution of ");
  auto instantiations = take_leads(cursor, ledger);
  const bool has_lead = cursor.position() != start;
  auto located = split_location(cursor.line());
  auto diagnostic = located ? severity_message(located->rest) : std::nullopt;
  if (!diagnostic) return has_lead;
  diagnostic->where = std::move(located->where);
  diagnostic->detail = std::move(instantiations);
  cursor.advance();
  take_excerpt(cursor, ledger);
  // The compiler words as an error why a candidate did not fit; it is a note to the diagnostic
  // above.
  auto& known = ledger.facts().diagnostics;
  if (is_substitution && is_system_file(diagnostic->where.file) && !known.empty()) {
    known.back().detail.push_back(to_text(diagnostic->where) + ": error: " + diagnostic->message);
    take_notes(cursor, ledger, &known.back());
    return true;
  }
  const bool is_new = ledger.add(std::move(*diagnostic)) == Ledger::Entry::New;
  take_notes(cursor, ledger, is_new ? &ledger.facts().diagnostics.back() : nullptr);
  return true;
}

bool take_linker_message(LineCursor& cursor, Ledger& ledger) {
  auto text = cursor.line();
  if (is_passed_on(text)) {
    ledger.keep(text);
    cursor.advance();
    return true;
  }
  const auto program = take_program(text);
  if (program.empty() && !is_linker_complaint(text)) return false;
  if (!program.empty() && (contains(text, ": in function ") || contains(text, ": In function "))) {
    ledger.omit_line("scope lines", text);
    cursor.advance();
    return true;
  }
  if (contains(text, ":(.text")) ledger.omit_line("offsets in .text", text);
  auto diagnostic = linker_diagnostic(text);
  const bool is_complaint = is_linker_complaint(text) || severity_message(text) ||
                            contains(text, "warning: ") || contains(text, "error: ");
  if (program.empty() && diagnostic.where.file.empty()) return false;
  if (!is_complaint) return false;
  if (contains(text, "warning: ") && !is_linker_complaint(text))
    diagnostic.severity = Severity::Warning;
  // A driver such as collect2 keeps its name, which is said once; a linker's would be on every
  // line.
  if (is_linker(program))
    ledger.omit_line("linker names", program);
  else if (!program.empty() && diagnostic.where.file.empty())
    diagnostic.message.insert(0, std::string(base_name(program)) + ": ");
  add_linker_diagnostic(cursor, ledger, std::move(diagnostic));
  return true;
}

}  // namespace nutshell::compaction
