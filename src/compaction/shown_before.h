// Which outputs a model has already seen: the same command with the same output is not shown again,
// its id is. Holds digests, never the output; the oldest are forgotten. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "compaction/captured.h"

namespace nutshell::compaction {

// Equal for one command that printed the same and ended the same way.
std::string output_digest(const Captured& captured);

class ShownBefore {
 public:
  explicit ShownBefore(std::size_t most = 1024) : most_(most) {}

  // The id it was shown under; otherwise remembers it under its own.
  std::optional<std::string> check(const Captured& captured);

 private:
  std::size_t most_;
  std::unordered_map<std::string, std::string> ids_;  // by digest
  std::deque<std::string> order_;                     // digests, oldest first
};

// "exit 0. unchanged since o7f3a (recall o7f3a)"
std::string unchanged_text(const Captured& captured, const std::string& id);

}  // namespace nutshell::compaction
