#include "wire/packed_spec.h"

namespace nutshell::wire {

PackedSpec pack(const SandboxSpec& spec) {
  PackedSpec packed;
  packed.image = spec.image;
  packed.memory_bytes = spec.limits.memory_bytes;
  packed.millicpus = spec.limits.millicpus;
  packed.processes = spec.limits.processes;
  packed.disk_bytes = spec.limits.disk_bytes;
  packed.open_files = spec.limits.open_files;
  packed.cpu_seconds = static_cast<std::uint64_t>(spec.limits.cpu_time.count());
  packed.ttl_ms = static_cast<std::uint64_t>(spec.ttl.count());
  packed.idle_ms = static_cast<std::uint64_t>(spec.idle_timeout.count());
  packed.environment = spec.environment;
  packed.working_directory = spec.working_directory;
  for (const auto& [name, value] : spec.labels)
    packed.labels.push_back({name, value});
  packed.unsafe_without = spec.unsafe_without;
  packed.workspace = spec.workspace;
  packed.workspace_mode = spec.workspace_mode;
  packed.is_for_one_command = spec.is_for_one_command ? 1 : 0;
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    const bool is_writable = mount.access == UnsafeMount::Access::ReadWrite;
    packed.unsafe_mounts.push_back(
        {mount.source, mount.target, is_writable ? std::uint8_t{1} : std::uint8_t{0}});
  }
  return packed;
}

SandboxSpec unpack(const PackedSpec& packed) {
  SandboxSpec spec;
  spec.image = packed.image;
  spec.limits.memory_bytes = packed.memory_bytes;
  spec.limits.millicpus = packed.millicpus;
  spec.limits.processes = packed.processes;
  spec.limits.disk_bytes = packed.disk_bytes;
  spec.limits.open_files = packed.open_files;
  spec.limits.cpu_time = std::chrono::seconds(static_cast<std::int64_t>(packed.cpu_seconds));
  spec.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(packed.ttl_ms));
  spec.idle_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(packed.idle_ms));
  spec.environment = packed.environment;
  spec.working_directory = packed.working_directory;
  for (const PackedText& label : packed.labels)
    spec.labels[label.name] = label.value;
  spec.unsafe_without = packed.unsafe_without;
  spec.workspace = packed.workspace;
  spec.workspace_mode = packed.workspace_mode;
  spec.is_for_one_command = packed.is_for_one_command != 0;
  for (const PackedMount& mount : packed.unsafe_mounts) {
    using enum UnsafeMount::Access;
    spec.unsafe_mounts.push_back(
        {mount.source, mount.target, mount.is_writable != 0 ? ReadWrite : ReadOnly});
  }
  return spec;
}

}  // namespace nutshell::wire
