// Fuzzes each parser by itself, so that none hides behind another.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "compaction/clean.h"
#include "compaction/command_words.h"
#include "compaction/formatter.h"
#include "compaction/parser.h"
#include "entry_points.h"

namespace nutshell::fuzz {
namespace {

using compaction::CleanText;
using compaction::Parser;
using compaction::ParserInput;

// The command for which a parser accepts output; empty for parsers that look only at the output.
constexpr std::array<std::pair<std::string_view, const char*>, 22> kCommands = {
    {{"cargo", "cargo test"},
     {"cmake", "cmake -B b"},
     {"ctest", "ctest"},
     {"eslint", "npx eslint ."},
     {"find", "find ."},
     {"gcc", "gcc -c a.c"},
     {"go", "go test ./..."},
     {"gradle", "gradle test"},
     {"grep", "grep -rn x ."},
     {"install", "npm install"},
     {"javac", "javac A.java"},
     {"jest", "npx jest"},
     {"make", "make"},
     {"maven", "mvn test"},
     {"mocha", "npx mocha"},
     {"ninja", "ninja"},
     {"node_test", "node --test"},
     {"pytest", "pytest -v"},
     {"tsc", "npx tsc"},
     {"vitest", "npx vitest run"},
     {"git stat", "git diff --stat"},
     {"git oneline", "git log --oneline"}}};

const char* command_of(std::string_view parser) {
  for (const auto& [name, command] : kCommands) {
    if (name == parser) return command;
  }
  return "tool";
}

// Parts that a parser reports as accounted for must lie in the output: the canary compares places.
bool lies_in(std::string_view part, std::string_view text) {
  const std::less_equal<const char*> before;
  return before(text.data(), part.data()) &&
         before(part.data() + part.size(), text.data() + text.size());
}

// A program's name has no blanks: `git_diff` is the parser "git diff".
const Parser* parser_called(std::string_view name) {
  for (const Parser& parser : compaction::parsers()) {
    if (folder_of(parser.name) == name) return &parser;
  }
  return nullptr;
}

}  // namespace

std::string folder_of(std::string_view parser) {
  std::string folder(parser);
  std::replace(folder.begin(), folder.end(), ' ', '_');
  return folder;
}

bool fuzz_parser(std::string_view name, std::string_view input) {
  const Parser* parser = parser_called(name);
  if (parser == nullptr) std::abort();
  if (input.empty()) return false;
  ExecResult ending;
  ending.exit_code = (input[0] & 1) != 0 ? 1 : 0;
  const auto command = compaction::command_words(command_of(parser->name));
  // Joined, so that all lines are in one text.
  const auto text = CleanText(input.substr(1), "").joined();
  const CleanText lines(text, "");
  const ParserInput given{command, lines.lines(), ending};
  if (!parser->recognises(given)) return false;
  const auto facts = parser->parse(given);
  if (!facts) return true;
  for (const auto part : facts->accounted) {
    if (compaction::needs_cleaning(text)) break;  // cleaned lines are copies elsewhere
    if (!lies_in(part, text)) std::abort();
  }
  const std::string id = "o1a2b";
  const std::size_t budget = (input[0] & 2) != 0 ? 100 : 6000;
  (void)compaction::format_facts({*facts, given.lines, budget, id});
  return true;
}

}  // namespace nutshell::fuzz
