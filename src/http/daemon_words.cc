#include "http/daemon_words.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_views.h"
#include "core/labels.h"

namespace nutshell::http {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr std::string_view kOwnLabels = "nutshell.";

const char* word_for(WorkspaceMode mode) {
  switch (mode) {
    case WorkspaceMode::Overlay:
      return "overlay";
    case WorkspaceMode::Copy:
      return "copy";
    case WorkspaceMode::Auto:
      break;
  }
  return "auto";
}

void add_lists(const SandboxSpec& spec, Json& body) {
  for (const std::string& variable : spec.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;  // check_spec() lets none through
    body["environment"][variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    const bool is_writable = mount.access == UnsafeMount::Access::ReadWrite;
    body["unsafe_mounts"].push_back({{"source", mount.source},
                                     {"target", mount.target},
                                     {"access", is_writable ? "read-write" : "read-only"}});
  }
  // The daemon dates what it makes itself.
  for (const auto& [name, value] : spec.labels)
    if (!name.starts_with(kOwnLabels)) body["labels"][name] = value;
  for (const Requirement& one : spec.requirements)
    body["require"].push_back(one.protection + (one.is_hard ? "=hard" : ""));
  if (!spec.unsafe_without.empty()) body["unsafe_without"] = spec.unsafe_without;
}

Limits limits_of(const Json& object) {
  Limits limits;
  limits.memory_bytes = object.at("memory_bytes").get<std::uint64_t>();
  limits.millicpus =
      static_cast<std::uint32_t>(std::lround(object.at("cpus").get<double>() * 1000));
  limits.processes = object.at("pids").get<std::uint32_t>();
  limits.disk_bytes = object.at("disk_bytes").get<std::uint64_t>();
  limits.open_files = object.at("open_files").get<std::uint64_t>();
  limits.cpu_time = std::chrono::duration_cast<std::chrono::seconds>(
      milliseconds(object.at("cpu_time_ms").get<std::int64_t>()));
  return limits;
}

SandboxSpec spec_of(const Json& object) {
  SandboxSpec spec;
  spec.backend = object.at("backend").get<std::string>();
  spec.image = object.at("image").get<std::string>();
  spec.limits = limits_of(object.at("limits"));
  spec.ttl = milliseconds(object.at("ttl_ms").get<std::int64_t>());
  spec.idle_timeout = milliseconds(object.at("idle_timeout_ms").get<std::int64_t>());
  spec.working_directory = object.at("working_directory").get<std::string>();
  spec.workspace = object.at("workspace").get<std::string>();
  const Json& mode = object.at("workspace_mode");
  if (mode == "overlay") spec.workspace_mode = WorkspaceMode::Overlay;
  if (mode == "copy") spec.workspace_mode = WorkspaceMode::Copy;
  spec.labels = object.at("labels").get<std::map<std::string, std::string>>();
  spec.unsafe_without = object.at("unsafe_without").get<std::vector<std::string>>();
  for (const Json& mount : object.at("unsafe_mounts")) {
    using enum UnsafeMount::Access;
    spec.unsafe_mounts.push_back({mount.at("source").get<std::string>(),
                                  mount.at("target").get<std::string>(),
                                  mount.at("access") == "read-write" ? ReadWrite : ReadOnly});
  }
  return spec;
}

Protections read_protections(const Json& list) {
  Protections protections;
  for (const Json& one : list) {
    Protection protection{one.at("name").get<std::string>(), Strength::Missing,
                          one.at("by").get<std::string>(), one.at("fix").get<std::string>()};
    if (one.at("strength") == to_string(Strength::Hard)) protection.strength = Strength::Hard;
    if (one.at("strength") == to_string(Strength::Watched)) protection.strength = Strength::Watched;
    protections.push_back(std::move(protection));
  }
  return protections;
}

SandboxStatus read_status(const Json& object) {
  SandboxStatus status;
  status.id = object.at("id").get<std::string>();
  status.spec = spec_of(object);
  status.state = object.at("state") == "paused" ? SandboxState::Paused : SandboxState::Running;
  status.age = milliseconds(object.at("age_ms").get<std::int64_t>());
  status.time_left = milliseconds(object.at("ttl_left_ms").get<std::int64_t>());
  status.why_copied = object.value("why_copied", "");
  if (object.contains("protections"))
    status.protections = read_protections(object.at("protections"));
  const std::string began = object.value("workspace_began_ns", "");
  if (!began.empty()) status.spec.labels[kBeganLabel] = began;
  return status;
}

std::optional<std::uint64_t> count_at(const Json& object, const char* name) {
  const Json& value = object.at(name);
  if (value.is_null()) return std::nullopt;
  return value.get<std::uint64_t>();
}

SandboxStats read_stats(const Json& object) {
  SandboxStats stats;
  stats.memory_bytes = count_at(object, "memory_bytes");
  stats.peak_memory_bytes = count_at(object, "peak_memory_bytes");
  stats.processes = count_at(object, "processes");
  stats.read_bytes = count_at(object, "read_bytes");
  stats.written_bytes = count_at(object, "written_bytes");
  const Json& cpu = object.at("cpu_ms");
  if (!cpu.is_null())
    stats.cpu_time = std::chrono::microseconds(std::llround(cpu.get<double>() * 1000));
  return stats;
}

Failure not_ours(const Json::exception& problem) {
  return failure(ErrorCode::Corrupt, std::string("the daemon's answer: ") + problem.what());
}

}  // namespace

Result<std::string> to_body(const SandboxSpec& spec) {
  Json body = {{"limits", Json::parse(to_json(spec.limits).dump())},
               {"ttl_ms", spec.ttl.count()},
               {"idle_timeout_ms", spec.idle_timeout.count()},
               {"working_directory", spec.working_directory},
               {"workspace_mode", word_for(spec.workspace_mode)}};
  if (!spec.backend.empty()) body["backend"] = spec.backend;
  if (!spec.image.empty()) body["image"] = spec.image;
  if (!spec.runtime.empty()) body["runtime"] = spec.runtime;
  if (!spec.workspace.empty()) body["workspace"] = spec.workspace;
  add_lists(spec, body);
  try {
    return body.dump();
  } catch (const Json::exception&) {
    return failure(ErrorCode::InvalidArgument,
                   "through a daemon, paths, labels and variables of a sandbox must be UTF-8");
  }
}

Result<SandboxStatus> status_of(const Json& object) {
  try {
    return read_status(object);
  } catch (const Json::exception& problem) {
    return not_ours(problem);
  }
}

Result<SandboxStats> stats_of(const Json& object) {
  try {
    return read_stats(object);
  } catch (const Json::exception& problem) {
    return not_ours(problem);
  }
}

Result<Protections> protections_of(const Json& list) {
  try {
    return read_protections(list);
  } catch (const Json::exception& problem) {
    return not_ours(problem);
  }
}

}  // namespace nutshell::http
