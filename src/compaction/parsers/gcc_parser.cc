#include "compaction/parsers/gcc_parser.h"

#include <algorithm>
#include <array>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/gcc_diagnostics.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_compiler_line(std::string_view line) {
  if (const auto located = split_location(line))
    return located->where.line > 0 && severity_message(located->rest).has_value();
  return line.starts_with("collect2: error:") || contains(line, ": undefined reference to `");
}

// Takes clang's sum: "6 warnings and 1 error generated.", "1 warning generated." clang-tidy prints
// running totals in this form, which count the warnings that it suppresses, too.
bool take_clang_sum(LineCursor& cursor, Ledger& ledger, bool is_running_total) {
  const auto line = cursor.line();
  auto text = line;
  if (!line.ends_with(" generated.") || !take_number(text)) return false;
  if (is_running_total) {
    ledger.omit_line("running totals", line);
    cursor.advance();
    return true;
  }
  text = line;
  while (const auto number = take_number(text)) {
    text = trim_left(text);
    const auto word = take_word(text);
    if (word.starts_with("warning"))
      ledger.add_total("warnings", *number);
    else if (word.starts_with("error"))
      ledger.add_total("errors", *number);
    (void)take_prefix(text, "and ");  // between the two, when there are two
  }
  cursor.advance();
  return true;
}

bool recognises_gcc(const ParserInput& input) {
  const auto& words = input.command.words;
  const bool is_called = !words.empty() && is_compiler_program(words.front());
  return is_called || has_line(input.lines, is_compiler_line);
}

// Returns whether a file is of a language that gcc and clang don't compile.
bool is_scripted(std::string_view file) {
  constexpr std::array<std::string_view, 20> kEndings = {
      ".py", ".pyi", ".js",  ".jsx",  ".mjs", ".ts",  ".tsx",  ".vue", ".rb",   ".php",
      ".sh", ".lua", ".yml", ".yaml", ".md",  ".css", ".scss", ".tf",  ".toml", ".json"};
  return std::ranges::any_of(kEndings, [&](auto ending) { return file.ends_with(ending); });
}

// "a.c:3:5: style: text": a place and a severity that no compiler prints, or a file that none
// compiles. Other tools, such as cppcheck and mypy, print messages in a compiler's form.
bool is_foreign(std::string_view line) {
  if (line.starts_with(' ')) return false;
  auto located = split_location(line);
  if (!located || located->where.line == 0) return false;
  if (severity_message(located->rest)) return is_scripted(located->where.file);
  const auto word = located->rest.substr(0, located->rest.find(": "));
  return word.size() < located->rest.size() && word.size() < 20 && !word.empty() &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
}

// Returns the tool's name for the totals: the compiler's, or that of the program that was called.
std::string_view name_of(const CommandWords& command) {
  if (command.words.empty()) return "gcc";
  const std::string_view program = command.words.front();
  if (contains(program, "clang")) return contains(program, "tidy") ? "clang-tidy" : "clang";
  constexpr std::array<std::string_view, 4> kAnalysers = {"cppcheck", "sparse", "splint",
                                                          "run-clang-tidy"};
  return std::ranges::find(kAnalysers, program) == kAnalysers.end() ? "gcc" : program;
}

std::optional<Facts> parse_gcc(const ParserInput& input) {
  if (std::ranges::any_of(input.lines, is_foreign)) return std::nullopt;
  Ledger ledger;
  const bool is_tidy = std::ranges::any_of(input.lines, [](std::string_view line) {
    return line.starts_with("Suppressed ") && contains(line, " warnings (");
  });
  for (LineCursor cursor(input.lines); !cursor.done();) {
    if (take_clang_sum(cursor, ledger, is_tidy)) continue;
    if (cursor.line() == "compilation terminated.") {
      ledger.omit("other lines");
      cursor.advance();
      continue;
    }
    take_unknown(cursor, ledger);
  }
  if (!ledger.facts().diagnostics.empty()) ledger.recognise();
  ledger.count_diagnostics();
  return ledger.settle(name_of(input.command), input);
}

}  // namespace

Parser gcc_parser() {
  return {.name = "gcc", .recognises = recognises_gcc, .parse = parse_gcc};
}

}  // namespace nutshell::compaction
