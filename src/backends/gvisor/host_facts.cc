#include "backends/gvisor/host_facts.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/machine.h"
#include "containers/init_orders.h"
#include "core/check_protections.h"

namespace nutshell::gvisor {
namespace {

constexpr const char* kNoCgroupFix = "without root there is no cgroup to set it in: run as root";

bool has_controllers(const std::string& list) {
  return list.find("memory") != std::string::npos && list.find("pids") != std::string::npos &&
         list.find("cpu") != std::string::npos;
}

// runsc makes the groups itself, at the usual mount points.
std::string find_cgroup() {
  if (::access("/sys/fs/cgroup/memory/memory.limit_in_bytes", W_OK) == 0 &&
      ::access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", F_OK) == 0 &&
      ::access("/sys/fs/cgroup/pids", W_OK) == 0)
    return "cgroup v1";
  const auto controllers = read_file("/sys/fs/cgroup/cgroup.controllers");
  return controllers && has_controllers(*controllers) ? "cgroup v2" : "";
}

Protection memory_protection(const HostFacts& facts) {
  constexpr const char* kWatch =
      "every 20 ms init compares what gVisor counts with the limit, and kills";
  if (facts.cgroup.empty()) return {"memory", Strength::Watched, kWatch, kNoCgroupFix};
  return {"memory", Strength::Hard,
          fmt::format("{} memory around all of gVisor, {} MiB more for itself; {}", facts.cgroup,
                      containers::kGvisorMemory >> 20U, kWatch),
          ""};
}

Protection cpu_protection(const HostFacts& facts, const Limits& limits) {
  if (!facts.cgroup.empty()) return {"cpus", Strength::Hard, facts.cgroup + " cpu quota", ""};
  const std::string cores = fmt::format("affinity to {} of the cores", whole_cores(limits));
  if (!is_cpu_watched(facts, limits)) return {"cpus", Strength::Hard, cores, ""};
  return {"cpus", Strength::Watched, cores + "; every 10 ms init looks and stops all processes",
          kNoCgroupFix};
}

Protection pids_protection(const HostFacts& facts) {
  std::string by = "RLIMIT_NPROC of the sandbox's user, in gVisor";
  if (!facts.cgroup.empty()) by += "; " + facts.cgroup + " pids around it";
  return {"processes", Strength::Hard, by, ""};
}

Protection disk_protection(const Limits& limits) {
  const GvisorScratchSizes sizes = scratch_sizes_for(limits);
  return {"disk", Strength::Hard,
          fmt::format("sizes of three tmpfs in gVisor's memory: /workspace {} MiB, /tmp {} MiB, "
                      "/dev/shm {} MiB; kept states have one more of {} MiB",
                      sizes.workspace >> 20U, sizes.temporary >> 20U, sizes.shared >> 20U,
                      sizes.kept >> 20U),
          ""};
}

Protection user_protection(const HostFacts& facts) {
  return {"user", Strength::Hard,
          facts.is_root ? "uid 1000 in gVisor, whose process is nobody in a user namespace"
                        : "uid 1000 in gVisor, whose process is in a user namespace",
          ""};
}

}  // namespace

HostFacts read_host_facts() {
  HostFacts facts;
  facts.is_root = ::geteuid() == 0;
  if (facts.is_root) facts.cgroup = find_cgroup();
  facts.cores = usable_cores();
  return facts;
}

// File systems that could fill all of gVisor's memory would leave no room for a command that cleans
// up: init would kill every one that tries.
GvisorScratchSizes scratch_sizes_for(const Limits& limits) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t whole = std::min(limits.disk_bytes, limits.memory_bytes) / kPage * kPage;
  return {containers::scratch_sizes(whole, limits.memory_bytes), whole};
}

std::uint32_t whole_cores(const Limits& limits) {
  return std::max(1U, (limits.millicpus + 999) / 1000);
}

bool is_cpu_watched(const HostFacts& facts, const Limits& limits) {
  return facts.cgroup.empty() && limits.millicpus % 1000 != 0;
}

Protections protections_for(const HostFacts& facts, const SandboxSpec& spec) {
  using enum Strength;
  return {
      {"kernel", Hard,
       "gVisor answers system calls in a process of its own; few reach the host's kernel", ""},
      {"network", Hard, "gVisor's own, with loopback only", ""},
      {"filesystem", Hard,
       "read-only root that a second process of gVisor serves; bounded tmpfs in its memory", ""},
      {"process_isolation", Hard, "processes exist in gVisor alone", ""},
      {"ipc", Hard, "gVisor's own", ""},
      {"hostname", Hard, "gVisor's own", ""},
      user_protection(facts),
      {"user_counts", Hard, "gVisor's own kernel counts them", ""},
      {"capabilities", Hard, "all dropped, in gVisor and of its process", ""},
      {"no_new_privileges", Hard, "prctl, in gVisor and of its process", ""},
      {"seccomp", Hard, "gVisor's filter around itself, init's own inside", ""},
      memory_protection(facts),
      cpu_protection(facts, spec.limits),
      pids_protection(facts),
      disk_protection(spec.limits),
      {"cpu_time", Watched, "RLIMIT_CPU per process (hard); init sums up the tree", ""},
      {"open_files", Hard, "RLIMIT_NOFILE, in gVisor", ""},
      {"output", Hard, "init stops reading at the limit and kills", ""},
      {"timeout", Hard, "init kills the whole tree; the host kills the sandbox", ""},
  };
}

namespace {

// Without root, gVisor's file server can create files only for the user who runs it. The sandbox's
// user is another one, so creating a file in a mount would fail with EINVAL.
Result<> check_mounts(const HostFacts& facts, const SandboxSpec& spec) {
  if (facts.is_root) return {};
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    if (mount.access == UnsafeMount::Access::ReadOnly) continue;
    return failure(ErrorCode::Unsupported,
                   fmt::format("mount of {}: gVisor without root can create no files in a mount; "
                               "mount it with :ro, or run as root",
                               mount.source));
  }
  return {};
}

}  // namespace

Result<> check_spec_here(const HostFacts& facts, const SandboxSpec& spec) {
  TRY(check_protections(protections_for(facts, spec), spec, {{}, {}}));
  if (!spec.runtime.empty() && spec.runtime != "runsc") {
    return failure(ErrorCode::Unsupported,
                   fmt::format("runtime {}: this backend supports runsc only", spec.runtime));
  }
  if (spec.workspace_mode == WorkspaceMode::Overlay && !spec.workspace.empty()) {
    return failure(ErrorCode::Unsupported,
                   "workspace mode overlay: gVisor stacks no layers for init; it takes a copy");
  }
  TRY(containers::check_native_fields(spec));
  TRY(check_mounts(facts, spec));
  if (spec.limits.millicpus <= facts.cores * 1000) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("cpus {:g} is more than this machine's {}: ask for at most {}",
                             spec.limits.millicpus / 1000.0, facts.cores, facts.cores));
}

}  // namespace nutshell::gvisor
