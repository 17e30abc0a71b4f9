#include "backends/gvisor/runsc_stats.h"

#include <nlohmann/json.hpp>

#include "containers/json_counts.h"
#include "core/json_members.h"

namespace nutshell::gvisor {

using containers::positive_at;

Result<SandboxStats> read_stats(std::string_view text) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto* data = member(document, "data");
  if (data == nullptr) return failure(ErrorCode::Corrupt, "runsc reports no counts");
  SandboxStats stats;
  stats.memory_bytes = positive_at(*data, {"memory", "usage", "usage"});
  stats.processes = positive_at(*data, {"pids", "current"});
  if (const auto nanoseconds = positive_at(*data, {"cpu", "usage", "total"}))
    stats.cpu_time = std::chrono::microseconds(static_cast<std::int64_t>(*nanoseconds / 1000));
  return stats;
}

}  // namespace nutshell::gvisor
