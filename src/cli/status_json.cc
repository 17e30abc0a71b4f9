#include "cli/status_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/byte_size.h"

namespace nutshell::cli {

nlohmann::ordered_json to_json(const Protections& protections) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Protection& protection : protections) {
    list.push_back({{"name", protection.name},
                    {"strength", to_string(protection.strength)},
                    {"by", protection.by},
                    {"fix", protection.fix}});
  }
  return list;
}

namespace {

nlohmann::ordered_json mounts_of(const SandboxSpec& spec) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    const bool is_writable = mount.access == UnsafeMount::Access::ReadWrite;
    list.push_back({{"source", mount.source},
                    {"target", mount.target},
                    {"access", is_writable ? "read-write" : "read-only"}});
  }
  return list;
}

nlohmann::ordered_json workspace_mode_of(const SandboxStatus& status) {
  if (status.spec.workspace.empty()) return nullptr;
  return status.why_copied.empty() ? "overlay" : "copy";
}

}  // namespace

nlohmann::ordered_json to_json(const SandboxStatus& status) {
  const SandboxSpec& spec = status.spec;
  const Limits& limits = spec.limits;
  return {{"id", status.id},
          {"backend", spec.backend},
          {"state", status.state == SandboxState::Paused ? "paused" : "running"},
          {"image", spec.image},
          {"workspace", spec.workspace},
          {"workspace_mode", workspace_mode_of(status)},
          {"unsafe_mounts", mounts_of(spec)},
          {"age_ms", status.age.count()},
          {"ttl_ms", spec.ttl.count()},
          {"ttl_left_ms", status.time_left.count()},
          {"idle_timeout_ms", spec.idle_timeout.count()},
          {"labels", spec.labels},
          {"limits",
           {{"memory_bytes", limits.memory_bytes},
            {"cpus", limits.millicpus / 1000.0},
            {"pids", limits.processes},
            {"disk_bytes", limits.disk_bytes},
            {"open_files", limits.open_files},
            {"cpu_time_ms", limits.cpu_time.count() * 1000}}}};
}

std::string summary_of(const SandboxSpec& spec) {
  return fmt::format("memory {}, cpus {:g}, pids {}, disk {}",
                     format_byte_size(spec.limits.memory_bytes), spec.limits.millicpus / 1000.0,
                     spec.limits.processes, format_byte_size(spec.limits.disk_bytes));
}

void print_protections(const Protections& protections) {
  fmt::print("{:<18} {:<8} {}\n", "PROTECTION", "STRENGTH", "BY");
  for (const Protection& protection : protections) {
    fmt::print("{:<18} {:<8} {}\n", protection.name, to_string(protection.strength), protection.by);
    if (!protection.fix.empty()) fmt::print("{:<27} why, and how to fix: {}\n", "", protection.fix);
  }
}

}  // namespace nutshell::cli
