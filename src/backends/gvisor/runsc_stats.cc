#include "backends/gvisor/runsc_stats.h"

#include <nlohmann/json.hpp>

#include "core/json_members.h"

namespace nutshell::gvisor {
namespace {

using Json = nlohmann::json;
using Count = std::optional<std::uint64_t>;

// Zero is what stands for a count that nobody makes: nothing that runs holds none.
Count count_at(const Json& data, std::initializer_list<const char*> names) {
  const Json* found = &data;
  for (const char* name : names) {
    found = member(*found, name);
    if (found == nullptr) return std::nullopt;
  }
  if (!found->is_number_unsigned() || *found == 0) return std::nullopt;
  return found->get<std::uint64_t>();
}

}  // namespace

Result<SandboxStats> read_stats(std::string_view text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json* data = member(document, "data");
  if (data == nullptr) return failure(ErrorCode::Corrupt, "runsc tells no counts");
  SandboxStats stats;
  stats.memory_bytes = count_at(*data, {"memory", "usage", "usage"});
  stats.processes = count_at(*data, {"pids", "current"});
  if (const Count nanoseconds = count_at(*data, {"cpu", "usage", "total"}))
    stats.cpu_time = std::chrono::microseconds(static_cast<std::int64_t>(*nanoseconds / 1000));
  return stats;
}

}  // namespace nutshell::gvisor
