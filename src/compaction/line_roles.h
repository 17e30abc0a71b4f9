// Decides for every line of an output that no parser knows what it is: a diagnostic, an error with
// its heading and body, a total, a passing test, or any other line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

enum class Role : std::uint8_t {
  Plain,
  Blank,
  Diagnostic,  // said by a diagnostic, or the path above it
  Excerpt,     // source text and marks below it
  Frame,       // a frame of a library in a stack trace
  Passing,     // a test or check that passed
  Heading,     // names what an error is about
  Error,
  Body,  // belongs to the error above it
  Warning,
  Summary,  // totals and verdicts
};

struct LineRoles {
  std::vector<Role> roles;         // one per line
  std::vector<std::size_t> above;  // the line that a line belongs to, by indent or paragraph; kNone
  std::vector<Diagnostic> diagnostics;
  std::vector<std::size_t> diagnostic_lines;  // the line of each diagnostic

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

LineRoles find_roles(Lines lines);

}  // namespace nutshell::compaction
