// Cuts the output of several programs into segments, one for each program: `cargo build && pytest`,
// make, tox, nox, pre-commit or npm calling others.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

struct Segment {
  std::size_t first = 0;  // line, counted from 0
  std::size_t lines = 0;
  CommandWords command;  // without words if it is not known
  std::string why;       // "its first line is pytest's", "tox announced it"
};

struct SegmentInput {
  Lines lines;
  std::size_t error_line;                  // where standard error begins
  std::span<const CommandWords> commands;  // of the list, in order
};

// Returns one segment if the output seems to be one program's.
std::vector<Segment> find_segments(const SegmentInput& input);

}  // namespace nutshell::compaction
