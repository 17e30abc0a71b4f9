// Finds lines that look like errors, whatever tool printed them. It sees every line of every
// output, so it reads a line once and skips most of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nutshell::compaction {

enum class LineKind : std::uint8_t { Plain, Warning, Error };

struct LineLook {
  LineKind kind = LineKind::Plain;
  std::size_t at = 0;  // where the word begins that makes it look like one
};

// "error: x", "ValueError: x", "3 failed", "npm ERR!"; not "0 errors", "src/error.rs",
// "test_error ... ok".
LineLook look_at(std::string_view line);

bool looks_like_error(std::string_view line);

}  // namespace nutshell::compaction
