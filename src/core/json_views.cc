#include "core/json_views.h"

#include <nlohmann/json.hpp>

#include "core/workspace_volume.h"

namespace nutshell {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / 1000.0;
}

Json mounts_of(const SandboxSpec& spec) {
  Json list = Json::array();
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    const bool is_writable = mount.access == UnsafeMount::Access::ReadWrite;
    list.push_back({{"source", mount.source},
                    {"target", mount.target},
                    {"access", is_writable ? "read-write" : "read-only"}});
  }
  return list;
}

template <typename Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json workspace_mode_of(const SandboxStatus& status) {
  if (status.spec.workspace.empty()) return nullptr;
  if (is_volume(status.spec.workspace)) return "volume";
  return status.why_copied.empty() ? "overlay" : "copy";
}

}  // namespace

Json to_json(const Limits& limits) {
  Json object;
  object["memory_bytes"] = limits.memory_bytes;
  object["cpus"] = limits.millicpus / 1000.0;
  object["pids"] = limits.processes;
  object["disk_bytes"] = limits.disk_bytes;
  object["open_files"] = limits.open_files;
  object["cpu_time_ms"] = limits.cpu_time.count() * 1000;
  return object;
}

Json to_json(const Protections& protections) {
  Json list = Json::array();
  for (const Protection& protection : protections) {
    list.push_back({{"name", protection.name},
                    {"strength", to_string(protection.strength)},
                    {"by", protection.by},
                    {"fix", protection.fix}});
  }
  return list;
}

Json to_json(const SandboxStatus& status) {
  const SandboxSpec& spec = status.spec;
  // One by one, because a list has a thousand of these: braces would build pairs and take them
  // apart again.
  Json object;
  object["id"] = status.id;
  object["backend"] = spec.backend;
  object["state"] = status.state == SandboxState::Paused ? "paused" : "running";
  object["image"] = spec.image;
  object["workspace"] = spec.workspace;
  object["workspace_mode"] = workspace_mode_of(status);
  object["unsafe_mounts"] = mounts_of(spec);
  object["age_ms"] = status.age.count();
  object["ttl_ms"] = spec.ttl.count();
  object["ttl_left_ms"] = status.time_left.count();
  object["idle_timeout_ms"] = spec.idle_timeout.count();
  object["labels"] = spec.labels;
  object["limits"] = to_json(spec.limits);
  return object;
}

Json to_json(const SandboxStats& stats) {
  return {{"memory_bytes", value_or_null(stats.memory_bytes)},
          {"peak_memory_bytes", value_or_null(stats.peak_memory_bytes)},
          {"cpu_ms", stats.cpu_time ? Json(milliseconds(*stats.cpu_time)) : Json(nullptr)},
          {"processes", value_or_null(stats.processes)},
          {"read_bytes", value_or_null(stats.read_bytes)},
          {"written_bytes", value_or_null(stats.written_bytes)}};
}

Json to_json(const ExecResult& result, const std::function<void(Json&)>& add_streams) {
  Json object;
  object["outcome"] = to_string(result.outcome);
  object["exit_code"] = nullptr;
  object["signal"] = nullptr;
  if (result.outcome == Outcome::Exited) object["exit_code"] = result.exit_code;
  if (result.outcome == Outcome::Signalled) object["signal"] = result.signal;
  if (add_streams) add_streams(object);
  object["duration_ms"] = milliseconds(result.duration);
  object["cpu_ms"] = milliseconds(result.cpu_time);
  object["peak_memory_bytes"] = result.peak_memory_bytes;
  object["stdout_truncated"] = result.stdout_truncated;
  object["stderr_truncated"] = result.stderr_truncated;
  if (!result.detail.empty()) object["detail"] = result.detail;
  return object;
}

}  // namespace nutshell
