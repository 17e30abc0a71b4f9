// A typed parser knows one tool's output. Parsers are asked in the registry's order; the first that
// recognises the output and accounts for all of it is used. A parser that is unsure refuses,
// because the generic renderer loses nothing. Parsers are pure functions: no I/O, no state, linear
// time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/facts.h"
#include "core/exec.h"

namespace nutshell::compaction {

// The words of the last simple command, the program without its directory: `cd x && FOO=1 cargo
// test -q` gives {"cargo", "test", "-q"}.
struct CommandWords {
  std::vector<std::string> words;
  bool is_whole = true;  // false if it was part of a pipeline or list, or had a redirection

  [[nodiscard]] bool starts_with(std::initializer_list<std::string_view> prefix) const;
  [[nodiscard]] bool has(std::string_view word) const;
};

// One cleaned line: no ANSI, no overwritten progress, valid UTF-8. Never contains '\n'.
using Lines = std::span<const std::string_view>;

struct ParserInput {
  const CommandWords& command;
  Lines lines;  // standard output, then standard error
  const ExecResult& ending;
};

struct Parser {
  std::string_view name;  // "pytest"
  bool (*recognises)(const ParserInput& input);
  std::optional<Facts> (*parse)(const ParserInput& input);
};

// Returns all typed parsers, the most specific first; defined in parsers/registry.cc.
std::span<const Parser> parsers();

}  // namespace nutshell::compaction
