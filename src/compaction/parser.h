// A typed parser knows one tool's output. It is asked in the registry's order; the first that
// recognises the output and can account for all of it wins, and any doubt is a refusal: the generic
// renderer loses nothing. Pure functions of their input; no I/O, no state; linear time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/facts.h"
#include "core/exec.h"

namespace nutshell::compaction {

// The words of the last simple command of what was run: `cd x && FOO=1 cargo test -q` gives
// {"cargo", "test", "-q"}, the program without its directory.
struct CommandWords {
  std::vector<std::string> words;
  bool is_whole = true;  // false: a pipeline, a list or a redirection stood around it

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

// All typed parsers, most specific first. Adding one is its file and one line here.
std::span<const Parser> parsers();

}  // namespace nutshell::compaction
