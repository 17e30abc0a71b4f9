// Renders output that no parser knows: error lines, head, tail, one line of each kind, totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "compaction/captured.h"
#include "compaction/clean.h"
#include "compaction/draft.h"

namespace nutshell::compaction {

// Returns the whole output, with repeated lines as one line and a count. The status comes first
// only if the command failed or lines were folded.
Draft render_whole(const Captured& captured, Lines lines);

// Estimates the bytes of that text.
std::size_t whole_bytes(Lines lines);

// Whether the command is known to print a log, of which one line per kind is shown.
enum class TextKind : std::uint8_t { Unknown, Log };

struct ExcerptInput {
  const Captured& captured;
  std::size_t max_tokens;
  std::size_t raw_tokens;      // of the captured bytes
  std::optional<Lines> lines;  // cleaned lines; nullopt if there are too many to keep
  TextKind text_kind = TextKind::Unknown;
};

// Returns a choice of lines, each block with the number of its first line.
Draft render_excerpt(const ExcerptInput& input);

// Returns whether most lines are log lines, of which one per kind is enough.
bool is_log(Lines lines);

}  // namespace nutshell::compaction
