// The renderer for output of no known tool: error lines, head, tail, one line of each kind, totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "compaction/captured.h"
#include "compaction/clean.h"
#include "compaction/draft.h"

namespace nutshell::compaction {

// All of it; runs of one line as that line and a count. The status stands ahead of it only when the
// command failed or something was folded.
Draft render_whole(const Captured& captured, Lines lines);

// About how many bytes that is.
std::size_t whole_bytes(Lines lines);

// What is known of an output before it is read: a log's lines are told by their kinds.
enum class Nature : std::uint8_t { Unknown, Log };

struct ExcerptInput {
  const Captured& captured;
  std::size_t max_tokens;
  std::size_t raw_tokens;      // of all that was captured
  std::optional<Lines> lines;  // the same, cleaned; nothing: too much to be kept
  Nature nature = Nature::Unknown;
};

// A choice of lines, each block with the number of its first one.
Draft render_excerpt(const ExcerptInput& input);

// True when most of the output is log lines, of which one per kind will do.
bool is_log(Lines lines);

}  // namespace nutshell::compaction
