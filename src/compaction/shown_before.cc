#include "compaction/shown_before.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "compaction/status_line.h"

namespace nutshell::compaction {

std::string output_digest(const Captured& captured) {
  // Each text has its length before it, so that different texts never make the same whole.
  const auto& ending = captured.ending;
  std::string parts = fmt::format(
      "{} {} {} {} {} {}\n", captured.command.size(), captured.output.size(), captured.error.size(),
      static_cast<int>(ending.outcome), ending.exit_code, ending.signal);
  parts += captured.command;
  parts += captured.output;
  parts += captured.error;
  return sha256_hex(parts);
}

std::optional<std::string> ShownBefore::check(const Captured& captured) {
  const auto digest = output_digest(captured);
  const auto [found, is_new] = ids_.emplace(digest, captured.recall_id);
  if (!is_new) return found->second;
  order_.push_back(digest);
  if (order_.size() > most_) {
    ids_.erase(order_.front());
    order_.pop_front();
  }
  return std::nullopt;
}

std::string unchanged_text(const Captured& captured, const std::string& id) {
  return fmt::format("{}. unchanged since {} ({})\n", ending_text(captured.ending), id,
                     recall_call(id));
}

}  // namespace nutshell::compaction
