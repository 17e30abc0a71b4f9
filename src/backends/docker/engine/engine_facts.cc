#include "backends/docker/engine/engine_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "containers/container_layout.h"
#include "core/check_protections.h"
#include "core/workspace_volume.h"

namespace nutshell::docker {
namespace {

constexpr std::chrono::seconds kInfoTime{30};  // podman runs several programs for it
constexpr const char* kNoCgroupFix =
    "the engine has no cgroup for it: run it as root, or on a host with cgroup v2 and delegation "
    "(systemd)";

void read_security(const Json& options, EngineFacts& facts) {
  if (!options.is_array()) return;
  for (const Json& option : options) {
    const std::string text = option.is_string() ? option.get<std::string>() : std::string();
    const bool is_off = text.find("unconfined") != std::string::npos;
    if (text.starts_with("name=seccomp")) facts.has_seccomp = !is_off;
    if (text.starts_with("name=userns")) facts.has_user_namespace = true;
    if (text.starts_with("name=rootless")) facts.has_user_namespace = facts.is_rootless = true;
    if (text.starts_with("name=apparmor")) facts.mandatory = "AppArmor";
    if (text.starts_with("name=selinux")) facts.mandatory = "SELinux";
  }
}

Protection limit_protection(const char* name, const std::string& by, Protection otherwise,
                            bool is_there) {
  if (is_there) return {name, Strength::Hard, by, ""};
  otherwise.name = name;
  otherwise.fix = kNoCgroupFix;
  return otherwise;
}

// Docker reports the path of each runtime's program; podman reports names only.
std::map<std::string, std::string> runtimes_of(const Json& info) {
  std::map<std::string, std::string> all;
  const Json* found = member(info, "Runtimes");
  if (found == nullptr || !found->is_object()) return all;
  for (const auto& [name, about] : found->items())
    all[name] = text_of(about, "path");
  return all;
}

std::string pids_by(const EngineFacts& facts, const SandboxSpec& spec) {
  if (!is_gvisor(facts, spec)) return facts.cgroup + " pids";
  return "RLIMIT_NPROC of the sandbox's user, in gVisor; " + facts.cgroup + " pids around it";
}

std::string memory_by(const EngineFacts& facts, const SandboxSpec& spec) {
  std::string by =
      facts.cgroup + (facts.has_swap_limit ? " memory, no swap" : " memory; swap is not counted");
  if (is_gvisor(facts, spec)) {
    by += fmt::format("; {} MiB more for gVisor itself, and init ends a command at the limit",
                      containers::kGvisorMemory >> 20U);
  }
  return by;
}

Protection kernel_protection() {
  return {"kernel", Strength::Hard,
          "gVisor answers system calls in a process of its own; few reach the host's kernel", ""};
}

Protection seccomp_protection(const EngineFacts& facts, const SandboxSpec& spec) {
  if (is_gvisor(facts, spec))
    return {"seccomp", Strength::Hard, "gVisor's filter around itself, init's own inside", ""};
  if (facts.has_seccomp)
    return {"seccomp", Strength::Hard, "the engine's default profile, and init's own filter", ""};
  return {"seccomp", Strength::Missing, "",
          "the engine runs containers without a system-call filter: it needs a kernel with seccomp "
          "and its default profile"};
}

Protection user_protection(const EngineFacts& facts) {
  if (facts.has_user_namespace)
    return {"user", Strength::Hard, "uid 1000 in the engine's user namespace", ""};
  return {"user", Strength::Hard,
          "uid 1000, which is uid 1000 of the engine's host too; userns-remap of the engine, or a "
          "rootless one, would keep them apart",
          ""};
}

// The kernel counts inotify instances, message queues, pending signals, pipe pages and others by
// the user of the host.
Protection count_protection(const EngineFacts& facts, const SandboxSpec& spec) {
  if (is_gvisor(facts, spec))
    return {"user_counts", Strength::Hard, "gVisor's own kernel counts them", ""};
  const std::string others = facts.has_user_namespace
                                 ? "this engine's other containers with uid 1000"
                                 : "uid 1000 of the engine's host and other containers; "
                                   "userns-remap would spare the host's user";
  return {"user_counts", Strength::Missing, "",
          "inotify instances, message queues, pending signals and the like are counted together "
          "with those of " +
              others};
}

// Inside gVisor the mount table is gVisor's own.
std::string files_text(const EngineFacts& facts, const SandboxSpec& spec) {
  std::string text = "read-only root of the image, bounded tmpfs";
  if (!is_gvisor(facts, spec)) text += "; the mount table shows the engine's directories";
  return text;
}

std::string processes_text(const EngineFacts& facts, const SandboxSpec& spec) {
  std::string text = fmt::format("pid namespace, {} of {}", runtime_for(facts, spec), facts.name);
  if (!facts.has_cgroup_namespace && !is_gvisor(facts, spec))
    text += "; no cgroup namespace: the path of its cgroup on the host can be read";
  return text;
}

Protection disk_protection(const SandboxSpec& spec) {
  if (is_volume(spec.workspace)) {
    return {"disk", Strength::Missing, "",
            "an engine's volume has no size of its own, and could fill its disk; with "
            "--unsafe-without disk that is accepted"};
  }
  const auto sizes = containers::scratch_sizes(spec.limits.disk_bytes, spec.limits.memory_bytes);
  return {"disk", Strength::Hard,
          fmt::format("sizes of three tmpfs: /workspace {} MiB, /tmp {} MiB, /dev/shm {} MiB; kept "
                      "states have one more of the whole size",
                      sizes.workspace >> 20U, sizes.temporary >> 20U, sizes.shared >> 20U),
          ""};
}

// Rootless podman has only the controllers delegated to its user, but /info reports the host's.
Result<> read_delegated_controllers(EngineClient& engine, EngineFacts& facts) {
  const auto answer = TRY(engine.call({.path = "/libpod/info", .time = kInfoTime}));
  const Json info = TRY(parse_json(answer.body));
  const Json* host = member(info, "host");
  const auto delegated =
      host != nullptr ? texts_of(*host, "cgroupControllers") : std::vector<std::string>();
  const auto is_delegated = [&delegated](const char* name) {
    return std::find(delegated.begin(), delegated.end(), name) != delegated.end();
  };
  facts.has_memory = facts.has_memory && is_delegated("memory");
  facts.has_pids = facts.has_pids && is_delegated("pids");
  facts.has_cpu = facts.has_cpu && is_delegated("cpu");
  return {};
}

}  // namespace

Result<EngineFacts> read_engine_facts(EngineClient& engine) {
  const auto answer = TRY(engine.call({.path = "/info", .time = kInfoTime}));
  const Json info = TRY(parse_json(answer.body));
  EngineFacts facts;
  facts.name = fmt::format("{} {}", engine.is_podman() ? "podman" : "Docker",
                           text_of(info, "ServerVersion"));
  facts.runtime = text_of(info, "DefaultRuntime");
  facts.runtimes = runtimes_of(info);
  facts.cgroup = fmt::format("cgroup v{}", text_of(info, "CgroupVersion"));
  facts.cores =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(info, "NCPU"), 1, 65536));
  facts.has_memory = is_true(info, "MemoryLimit");
  facts.has_swap_limit = is_true(info, "SwapLimit");
  facts.has_pids = is_true(info, "PidsLimit");
  facts.has_cpu = is_true(info, "CpuCfsQuota");
  // Podman's Docker API ignores the setting, and with cgroup v1 its default is the host's
  // namespace.
  facts.has_cgroup_namespace = !engine.is_podman() || text_of(info, "CgroupVersion") != "1";
  if (const Json* options = member(info, "SecurityOptions")) read_security(*options, facts);
  if (is_true(info, "Rootless")) facts.has_user_namespace = facts.is_rootless = true;
  if (facts.is_rootless && text_of(info, "CgroupVersion") == "1")
    facts.has_memory = facts.has_pids = facts.has_cpu = false;
  else if (facts.is_rootless && engine.is_podman())
    TRY(read_delegated_controllers(engine, facts));
  if (text_of(info, "OSType") != "linux")
    return failure(ErrorCode::Unsupported, "the engine does not run Linux containers");
  return facts;
}

std::string runtime_for(const EngineFacts& facts, const SandboxSpec& spec) {
  return spec.runtime.empty() ? facts.runtime : spec.runtime;
}

bool is_gvisor(const EngineFacts& facts, const SandboxSpec& spec) {
  const std::string name = runtime_for(facts, spec);
  const auto found = facts.runtimes.find(name);
  const std::string program = found == facts.runtimes.end() ? name : found->second;
  return name.find("runsc") != std::string::npos || program.find("runsc") != std::string::npos;
}

Protections protections_for(const EngineFacts& facts, const SandboxSpec& spec) {
  using enum Strength;
  Protections protections = {
      {"network", Hard, "network namespace with loopback only", ""},
      {"filesystem", Hard, files_text(facts, spec), ""},
      {"process_isolation", Hard, processes_text(facts, spec), ""},
      {"ipc", Hard, "ipc namespace", ""},
      {"hostname", Hard, "uts namespace", ""},
      user_protection(facts),
      count_protection(facts, spec),
      {"capabilities", Hard, "all dropped", ""},
      {"no_new_privileges", Hard, "prctl", ""},
      seccomp_protection(facts, spec),
      {"masked_paths", Hard,
       "paths in /proc and /sys that reveal the machine" +
           (facts.mandatory.empty() ? std::string() : "; " + facts.mandatory),
       ""},
      limit_protection("memory", memory_by(facts, spec),
                       {"", Watched, "init looks every 20 ms and kills", ""}, facts.has_memory),
      limit_protection("cpus", facts.cgroup + " cpu quota",
                       {"", Watched, "init looks every 10 ms and halts all", ""}, facts.has_cpu),
      limit_protection("processes", pids_by(facts, spec), {"", Missing, "", ""},
                       facts.has_pids || is_gvisor(facts, spec)),
      disk_protection(spec),
      {"cpu_time", Watched, "RLIMIT_CPU per process (hard); init sums up the tree", ""},
      {"open_files", Hard, "RLIMIT_NOFILE", ""},
      {"output", Hard, "init stops reading at the limit and kills", ""},
      {"timeout", Hard, "init kills the whole tree; the host kills the sandbox", ""},
  };
  if (is_gvisor(facts, spec)) protections.insert(protections.begin(), kernel_protection());
  return protections;
}

namespace {

Result<> check_runtime(const EngineFacts& facts, const SandboxSpec& spec) {
  if (spec.runtime.empty() || facts.runtimes.contains(spec.runtime)) return {};
  std::string names;
  for (const auto& [name, program] : facts.runtimes)
    names += (names.empty() ? "" : ", ") + name;
  return failure(ErrorCode::Unsupported,
                 fmt::format("runtime {}: {} has only {}", spec.runtime, facts.name, names));
}

}  // namespace

Result<> check_spec_here(const EngineFacts& facts, const SandboxSpec& spec) {
  TRY(check_runtime(facts, spec));
  TRY(check_protections(protections_for(facts, spec), spec,
                        {{"processes", "disk"}, {"user_counts"}}));
  if (spec.limits.millicpus <= facts.cores * 1000) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("cpus {:g} is more than the engine's {}: ask for at most {}",
                             spec.limits.millicpus / 1000.0, facts.cores, facts.cores));
}

}  // namespace nutshell::docker
