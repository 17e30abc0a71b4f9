#include "backends/docker/engine/engine_stats.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "containers/json_counts.h"

namespace nutshell::docker {
namespace {

using Count = std::optional<std::uint64_t>;
using containers::count_at;
using containers::positive_at;

// The operation is called "Read" with cgroup v1 and "read" with v2. Nullopt if the sum overflows.
Count bytes_of(const Json& transfers, std::string_view operation) {
  std::uint64_t sum = 0;
  for (const Json& one : transfers) {
    std::string name = text_of(one, "op");
    if (!name.empty()) name[0] = static_cast<char>(name[0] | 0x20);
    if (name != operation) continue;
    const std::uint64_t bytes = count_at(one, {"value"}).value_or(0);
    if (bytes > std::numeric_limits<std::uint64_t>::max() - sum) return std::nullopt;
    sum += bytes;
  }
  return sum;
}

// cgroup v2 counts processor time and transfers in every cgroup, whichever controllers it has.
bool has_cgroup(const EngineFacts& facts) {
  return facts.has_memory || facts.has_pids || facts.has_cpu;
}

}  // namespace

SandboxStats read_stats(const Json& stats, const EngineFacts& facts) {
  SandboxStats read;
  if (!has_cgroup(facts)) return read;
  if (facts.has_memory) {
    read.memory_bytes = positive_at(stats, {"memory_stats", "usage"});
    read.peak_memory_bytes = positive_at(stats, {"memory_stats", "max_usage"});
  }
  if (facts.has_pids) read.processes = positive_at(stats, {"pids_stats", "current"});
  if (const Count nanoseconds = positive_at(stats, {"cpu_stats", "cpu_usage", "total_usage"}))
    read.cpu_time = std::chrono::microseconds(static_cast<std::int64_t>(*nanoseconds / 1000));
  const Json* blocks = member(stats, "blkio_stats");
  const Json* transfers =
      blocks != nullptr ? member(*blocks, "io_service_bytes_recursive") : nullptr;
  if (transfers == nullptr || !transfers->is_array()) return read;
  read.read_bytes = bytes_of(*transfers, "read");
  read.written_bytes = bytes_of(*transfers, "write");
  return read;
}

}  // namespace nutshell::docker
