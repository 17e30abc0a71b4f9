#include "backends/docker/engine_stats.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace nutshell::docker {
namespace {

using Count = std::optional<std::uint64_t>;

Count count_of(const Json* object, const char* name) {
  const Json* found = object != nullptr ? member(*object, name) : nullptr;
  if (found == nullptr || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

// Zero is what an engine says that does not count: nothing that runs holds none.
Count if_any(Count count) {
  return count == Count(0) ? std::nullopt : count;
}

// Named "Read" with cgroup v1, "read" with v2; a sum that no disk can have is a lie.
Count bytes_of(const Json& transfers, std::string_view operation) {
  std::uint64_t sum = 0;
  for (const Json& one : transfers) {
    std::string name = text_of(one, "op");
    if (!name.empty()) name[0] = static_cast<char>(name[0] | 0x20);
    if (name != operation) continue;
    const std::uint64_t bytes = count_of(&one, "value").value_or(0);
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
    const Json* memory = member(stats, "memory_stats");
    read.memory_bytes = if_any(count_of(memory, "usage"));
    read.peak_memory_bytes = if_any(count_of(memory, "max_usage"));
  }
  if (facts.has_pids) read.processes = if_any(count_of(member(stats, "pids_stats"), "current"));
  const Json* processor = member(stats, "cpu_stats");
  const Json* usage = processor != nullptr ? member(*processor, "cpu_usage") : nullptr;
  if (const Count nanoseconds = if_any(count_of(usage, "total_usage")))
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
