#include "backends/docker/container/container_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/container/seccomp_profile.h"
#include "backends/docker/engine/engine_json.h"
#include "containers/container_layout.h"
#include "core/json_text.h"

namespace nutshell::docker {
namespace {

using namespace containers;  // NOLINT(google-build-using-namespace): the layout's constants

// Podman's default for this limit can be more than it may set. The cgroup limits processes anyway.
constexpr std::uint64_t kPodmanProcesses = 32768;

ScratchSizes sizes_for(const Limits& limits) {
  return scratch_sizes(limits.disk_bytes, limits.memory_bytes);
}

std::string size_options(std::uint64_t bytes) {
  return fmt::format("rw,nosuid,nodev,size={}", bytes);
}

// Docker's tmpfs options take an owner; podman's "U" gives it to the container's user.
std::string owned_by_user(const ContainerPlan& plan) {
  return plan.engine == EngineKind::Podman ? "U" : "uid=1000,gid=1000";
}

Json tmpfs_of(const ContainerPlan& plan) {
  const ScratchSizes sizes = sizes_for(plan.spec.limits);
  const std::string owner = owned_by_user(plan);
  const std::string nothing = "ro,noexec,nosuid,nodev,size=4096,mode=0755";
  Json tmpfs = Json::object();
  // A path that the image declares as a volume would otherwise become one, writable and unlimited.
  for (const std::string& path : plan.image.volumes)
    tmpfs[path] = nothing;
  if (plan.engine == EngineKind::Podman) {
    for (const char* path : {"/run", "/var/tmp"})  // podman makes these writable
      tmpfs[path] = nothing;
  }
  if (plan.workspace_volume.empty()) {
    tmpfs[kWorkspace] = fmt::format("{},exec,mode=0755,{}", size_options(sizes.workspace), owner);
  }
  tmpfs["/tmp"] = fmt::format("{},exec,mode=1777,{}", size_options(sizes.temporary), owner);
  tmpfs[kStoreDirectory] =
      fmt::format("{},noexec,mode=0700,{}", size_options(plan.spec.limits.disk_bytes), owner);
  return tmpfs;
}

Json bind_of(const std::string& source, const std::string& target, UnsafeMount::Access access) {
  return {{"Type", "bind"},
          {"Source", source},
          {"Target", target},
          {"ReadOnly", access == UnsafeMount::Access::ReadOnly},
          {"BindOptions", {{"Propagation", "rprivate"}}}};
}

Json volume_at(const std::string& name, const std::string& target, UnsafeMount::Access access) {
  return {{"Type", "volume"},
          {"Source", name},
          {"Target", target},
          {"ReadOnly", access == UnsafeMount::Access::ReadOnly},
          {"VolumeOptions", {{"NoCopy", true}}}};
}

Json mounts_of(const ContainerPlan& plan) {
  using enum UnsafeMount::Access;
  Json mounts = Json::array();
  mounts.push_back(volume_at(plan.init_volume, kInitDirectory, ReadOnly));
  if (!plan.workspace_volume.empty())
    mounts.push_back(volume_at(plan.workspace_volume, kWorkspace, ReadWrite));
  for (const UnsafeMount& mount : plan.spec.unsafe_mounts)
    mounts.push_back(bind_of(mount.source, mount.target, mount.access));
  return mounts;
}

Json limit_of(const char* name, std::uint64_t value) {
  return {{"Name", name}, {"Soft", value}, {"Hard", value}};
}

Json ulimits_of(const ContainerPlan& plan) {
  Json limits = Json::array();
  limits.push_back(limit_of("nofile", std::max(plan.spec.limits.open_files, kLeastOpenFiles)));
  limits.push_back(limit_of("core", 1));  // see the native sandbox's apply_rlimits()
  limits.push_back(limit_of("fsize", plan.spec.limits.disk_bytes + kBeyondDisk));
  // With gVisor the cgroup counts gVisor's threads; this limit counts the sandbox's processes.
  if (plan.is_gvisor)
    limits.push_back(limit_of("nproc", plan.spec.limits.processes + kOurProcesses));
  else if (plan.engine == EngineKind::Podman)
    limits.push_back(limit_of("nproc", kPodmanProcesses));
  return limits;
}

// Paths that reveal something about the machine, and those that engines mask by default: a list
// replaces the default. The cgroup's own files stay readable, because init reads there whether
// memory ran out.
Json masked_paths() {
  return {"/proc/acpi",
          "/proc/asound",
          "/proc/cmdline",
          "/proc/config.gz",
          "/proc/interrupts",
          "/proc/kallsyms",
          "/proc/kcore",
          "/proc/key-users",
          "/proc/keys",
          "/proc/latency_stats",
          "/proc/modules",
          "/proc/sched_debug",
          "/proc/scsi",
          "/proc/softirqs",
          "/proc/sys/kernel/random/boot_id",
          "/proc/timer_list",
          "/proc/timer_stats",
          "/sys/block",
          "/sys/bus",
          "/sys/class",
          "/sys/dev",
          "/sys/devices",
          "/sys/firmware",
          "/sys/hypervisor",
          "/sys/kernel",
          "/sys/module",
          "/sys/power"};
}

std::uint64_t memory_of(const ContainerPlan& plan) {
  return plan.spec.limits.memory_bytes + (plan.is_gvisor ? kGvisorMemory : 0);
}

std::uint32_t processes_of(const ContainerPlan& plan) {
  const std::uint32_t count = plan.spec.limits.processes + kOurProcesses;
  return plan.is_gvisor ? gvisor_threads_for(count) : count;
}

// Init watches the connections of commands, but not with gVisor.
bool has_watched_network(const ContainerPlan& plan) {
  return mode_of(plan.spec.network) != NetworkMode::None && !plan.is_gvisor;
}

Json security_of(const ContainerPlan& plan) {
  Json options = Json::array({"no-new-privileges"});
  // Podman's own profile lets init take sockets.
  if (has_watched_network(plan) && plan.has_seccomp && plan.engine == EngineKind::Docker)
    options.push_back("seccomp=" + seccomp_profile());
  return options;
}

Json host_config_of(const ContainerPlan& plan) {
  const Limits& limits = plan.spec.limits;
  Json config = {
      {"AutoRemove", true},
      {"NetworkMode", "none"},
      {"ReadonlyRootfs", true},
      {"Privileged", false},
      {"CapDrop", {"ALL"}},
      {"SecurityOpt", security_of(plan)},
      {"IpcMode", "private"},
      {"CgroupnsMode", "private"},
      {"ShmSize", sizes_for(limits).shared},
      {"Ulimits", ulimits_of(plan)},
      {"Tmpfs", tmpfs_of(plan)},
      {"Mounts", mounts_of(plan)},
      {"LogConfig", {{"Type", "none"}}},  // standard output is the connection to init
      {"RestartPolicy", {{"Name", "no"}}},
      {"Init", false},
      {"MaskedPaths", masked_paths()},
      {"Dns", {"127.0.0.1"}},  // there is no network; hides the host's resolvers
  };
  if (plan.kept.memory) {
    config["Memory"] = memory_of(plan);
    config["MemorySwap"] = memory_of(plan);  // the sum of both: no swap
  }
  if (plan.kept.cpu) config["NanoCpus"] = std::uint64_t{limits.millicpus} * 1'000'000;
  if (plan.kept.processes) config["PidsLimit"] = processes_of(plan);
  if (!plan.runtime.empty()) config["Runtime"] = plan.runtime;
  // Init, which has no privileges, answers look-ups of names on port 53.
  if (has_watched_network(plan)) config["Sysctls"] = {{"net.ipv4.ip_unprivileged_port_start", "0"}};
  return config;
}

}  // namespace

std::string create_body(const ContainerPlan& plan) {
  const Json body = {
      {"Image", plan.image.id},
      {"Entrypoint", {kInitProgram}},
      {"Cmd", {"serve", kSocketName, "orders"}},
      {"User", kSandboxUser},
      {"WorkingDir", "/"},
      {"Hostname", "nutshell"},
      {"Env", Json::array()},
      {"Healthcheck", {{"Test", {"NONE"}}}},
      {"Labels", plan.labels},
      {"OpenStdin", true},
      {"StdinOnce", true},  // the stream ends with the process that attached
      // Init ignores other signals, and an engine that stops or restarts would wait for 10 seconds.
      {"StopSignal", "SIGKILL"},
      {"AttachStdin", true},
      {"AttachStdout", true},
      {"AttachStderr", true},
      {"Tty", false},
      {"HostConfig", host_config_of(plan)},
  };
  return dump_json(body);
}

}  // namespace nutshell::docker
