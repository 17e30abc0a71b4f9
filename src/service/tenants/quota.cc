#include "service/tenants/quota.h"

#include <fmt/format.h>

#include <algorithm>

namespace nutshell::service {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kShare = 4;  // one tenant has a quarter of the machine

std::uint64_t percent_of(std::uint64_t amount, std::uint64_t percent) {
  return amount / 100 * percent;
}

}  // namespace

const std::array<ResourceInfo, kResourceCount>& resources() {
  using enum Resource;
  static const std::array<ResourceInfo, kResourceCount> kAll = {{
      {Sandboxes, "sandboxes", "sandboxes", "destroy a sandbox first", "sandboxes at once"},
      {Memory, "memory_bytes", "memory bytes", "destroy a sandbox first, or ask for less memory",
       "sum of the memory limits of sandboxes"},
      {Millicpus, "cpus", "cpus", "destroy a sandbox first, or ask for fewer cpus",
       "sum of the CPU limits of sandboxes, in cores"},
      {Processes, "processes", "processes", "destroy a sandbox first, or ask for fewer processes",
       "sum of the process limits of sandboxes"},
      {Disk, "disk_bytes", "disk bytes", "destroy a sandbox first, or ask for less disk",
       "sum of the disk limits of sandboxes"},
      {StateBytes, "state_bytes", "bytes for labels, environments and setups",
       "end sessions and sandboxes, or give them shorter descriptions",
       "labels, environments and setup commands with their output, of sandboxes and sessions"},
      {Sessions, "sessions", "sessions", "end a session first", "sessions at once"},
      {DetachedExecs, "detached_execs", "detached execs", "wait for one to end",
       "detached and streamed execs that run; ended ones make room"},
      {SpoolBytes, "spool_bytes", "bytes of output on disk",
       "wait for an exec to end, or destroy its sandbox",
       "output of detached and streamed execs, on disk"},
      {OutputMemory, "output_memory_bytes", "bytes of output in memory",
       "stream the output, or wait for other execs to be answered",
       "memory for what calls collect for their answers: output, lists, files"},
      {KeptBytes, "kept_bytes", "bytes of kept workspaces", "forget the workspace of a session",
       "files that sessions leave behind"},
      {ImageBytes, "image_bytes", "bytes of pulled images",
       "use an image that is there, or have the operator remove one",
       "images that were pulled for the tenant"},
      {Keys, "idempotency_keys", "idempotency keys", "wait",
       "idempotency keys that are remembered; the oldest make room"},
      {Waiting, "waiting", "places in the lines for pools", "release a sandbox first",
       "callers that wait for pools at once"},
  }};
  return kAll;
}

const ResourceInfo& info_of(Resource resource) {
  return resources().at(static_cast<std::size_t>(resource));
}

std::string amount_text(Resource resource, std::uint64_t amount) {
  if (resource != Resource::Millicpus) return std::to_string(amount);
  return fmt::format("{}", static_cast<double>(amount) / 1000.0);
}

Quota machine_quota(const Machine& machine, std::uint64_t disk_bytes,
                    const Overcommit& overcommit) {
  using enum Resource;
  Quota quota;
  quota[Sandboxes] = std::clamp<std::uint64_t>(machine.processes / 8, 64, 10'000);
  quota[Memory] = percent_of(machine.memory_bytes, overcommit.memory);
  quota[Millicpus] = percent_of(std::uint64_t{machine.cores} * 1000, overcommit.cpu);
  quota[Processes] = percent_of(machine.processes, overcommit.processes);
  // The scratch space of native sandboxes is in memory, whatever the disk of the state directory.
  quota[Disk] = percent_of(std::max(disk_bytes, machine.memory_bytes), overcommit.disk);
  quota[StateBytes] = std::clamp(machine.memory_bytes / 16, 64 * kMiB, 2 * kGiB);
  quota[Sessions] = 8000;
  quota[DetachedExecs] = 2048;
  quota[SpoolBytes] = std::max(disk_bytes / 8, kGiB);
  quota[OutputMemory] = std::clamp(machine.memory_bytes / 4, 512 * kMiB, 32 * kGiB);
  quota[KeptBytes] = std::max(disk_bytes / 4, kGiB);
  quota[ImageBytes] = std::max(disk_bytes / 4, kGiB);
  quota[Keys] = 400'000;
  quota[Waiting] = 256;
  return quota;
}

Quota tenant_quota(const Quota& machine) {
  Quota quota = machine;
  for (const ResourceInfo& info : resources())
    quota[info.resource] /= kShare;
  return quota;
}

}  // namespace nutshell::service
