#include "core/refused_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace nutshell {
namespace {

constexpr std::size_t kMostShown = 4;
constexpr std::string_view kAllowed = "; allowed are ";

}  // namespace

// Every reason ends with the same list of what is allowed, so only the last one keeps it.
std::string refused_text(const ExecResult& result) {
  const auto& reasons = result.refused_connections;
  if (reasons.empty()) return {};
  const auto count =
      std::max(result.refused_connection_count, static_cast<std::uint64_t>(reasons.size()));
  std::string text =
      count == 1 ? "1 connection refused: " : fmt::format("{} connections refused: ", count);
  const std::size_t shown = std::min(reasons.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string_view reason = reasons[i];
    const std::size_t list = i + 1 < shown ? reason.find(kAllowed) : std::string_view::npos;
    if (i > 0) text += ", ";
    text += reason.substr(0, list);
  }
  if (reasons.size() > shown) text += fmt::format("; and {} more", reasons.size() - shown);
  return text;
}

}  // namespace nutshell
