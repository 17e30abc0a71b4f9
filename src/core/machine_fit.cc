#include "core/machine_fit.h"

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/machine.h"

namespace nutshell {
namespace {

constexpr std::uint32_t kFewProcesses = 4096;

}  // namespace

Result<> check_fits_machine(const Limits& limits) {
  const std::uint64_t memory = physical_memory_bytes();
  if (limits.memory_bytes > memory) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("memory {} is more than this machine's {}: ask for less",
                               format_byte_size(limits.memory_bytes), format_byte_size(memory)));
  }
  if (limits.processes <= kFewProcesses) return {};  // every kernel can number that many
  const std::uint64_t most = most_processes() / 2;
  if (limits.processes <= most) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("processes {} is more than half of what this machine's kernel can "
                             "number: ask for at most {}",
                             limits.processes, most));
}

}  // namespace nutshell
