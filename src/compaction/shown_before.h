// Remembers which outputs a model has seen, so that the same output of the same command is replaced
// by its id. Keeps digests, not outputs, and forgets the oldest. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "compaction/captured.h"

namespace nutshell::compaction {

// Returns a digest of the command, its output and how it ended.
std::string output_digest(const Captured& captured);

class ShownBefore {
 public:
  explicit ShownBefore(std::size_t most = 1024) : most_(most) {}

  // Returns the id under which it was shown; if it was not, remembers it under its own id.
  std::optional<std::string> check(const Captured& captured);

 private:
  std::size_t most_;
  std::unordered_map<std::string, std::string> ids_;  // by digest
  std::deque<std::string> order_;                     // digests, oldest first
};

// "exit 0. unchanged since o7f3a (recall o7f3a)"
std::string unchanged_text(const Captured& captured, const std::string& id);

}  // namespace nutshell::compaction
