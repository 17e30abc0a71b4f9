// Reads the goroutines that a Go program dumps when it panics: their states and the frames in the
// user's code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct GoroutineDump {
  Location where;                  // the first frame in the user's code
  std::vector<std::string> lines;  // each goroutine's number and state, then its frames
  std::uint64_t frames_left_out = 0;
};

// Joins goroutines only if their states and frames are equal; their numbers are all kept.
GoroutineDump read_goroutines(Lines lines);

}  // namespace nutshell::compaction
