#include "backends/native/start/abilities.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "backends/native/filters/landlock.h"
#include "backends/native/filters/rlimits.h"
#include "core/check_protections.h"
#include "core/machine_fit.h"

namespace nutshell::native {
namespace {

constexpr const char* kDelegateFix =
    "run as root, or under a delegated cgroup: systemd-run --user --scope -p Delegate=yes …";

std::string cgroup_word(const Abilities& abilities, const char* controller) {
  return fmt::format("cgroup {} {}", abilities.cgroups.version() == CgroupVersion::V2 ? "v2" : "v1",
                     controller);
}

// Names the first reason only, which is enough to act on.
std::string why_no_cgroup(const Abilities& abilities) {
  const std::string& all = abilities.cgroups.why_not();
  return fmt::format("{}; {}", all.substr(0, all.find(';')), kDelegateFix);
}

Protection memory_protection(const Abilities& abilities) {
  if (abilities.cgroups.has_memory()) {
    return {"memory", Strength::Hard, cgroup_word(abilities, "memory"), ""};
  }
  // Init cannot count a shared mapping of /dev/zero, and only Landlock can refuse it.
  if (abilities.landlock == 0) {
    return {"memory", Strength::Missing, "",
            fmt::format("without a cgroup it is watched, which needs Landlock; {}, or accept that "
                        "with --unsafe-without memory",
                        why_no_cgroup(abilities))};
  }
  return {"memory", Strength::Watched,
          "init checks every 20 ms and kills; RLIMIT_DATA per process; mappings it could not count "
          "(shared anonymous ones, memfds, huge pages) are refused",
          why_no_cgroup(abilities)};
}

Protection cpu_protection(const Abilities& abilities, const Limits& limits) {
  if (abilities.cgroups.has_cpu()) {
    return {"cpus", Strength::Hard, cgroup_word(abilities, "cpu"), ""};
  }
  if (limits.millicpus % 1000 == 0) {
    return {"cpus", Strength::Hard, "CPU affinity, locked by seccomp", ""};
  }
  return {
      "cpus", Strength::Watched,
      "CPU affinity, locked by seccomp; init checks every 10 ms and stops all processes for the "
      "rest of the time",
      fmt::format("ask for whole cores, or {}", kDelegateFix)};
}

Protection process_protection(const Abilities& abilities) {
  if (abilities.cgroups.has_pids()) {
    return {"processes", Strength::Hard,
            cgroup_word(abilities, "pids") + ", RLIMIT_NPROC in the sandbox's user namespace", ""};
  }
  return {"processes", Strength::Hard, "RLIMIT_NPROC in the sandbox's user namespace", ""};
}

Protection landlock_protection(const Abilities& abilities) {
  if (abilities.landlock > 0) {
    return {"landlock", Strength::Hard, fmt::format("Landlock version {}", abilities.landlock), ""};
  }
  return {"landlock", Strength::Missing, "",
          "this kernel has no Landlock: boot with lsm=landlock,… or a kernel of 5.13 or later, or "
          "accept its absence with --unsafe-without landlock"};
}

Protection cgroup_protection(const Abilities& abilities) {
  if (abilities.cgroups.version() != CgroupVersion::None) {
    return {"cgroup", Strength::Hard,
            abilities.cgroups.version() == CgroupVersion::V2 ? "cgroup v2" : "cgroup v1", ""};
  }
  return {"cgroup", Strength::Missing, "", why_no_cgroup(abilities)};
}

Protection identity_protection(const Abilities& abilities) {
  if (abilities.privilege == Privilege::Root) {
    return {"user", Strength::Hard, "user namespace, uid 1000 inside, a host uid of its own", ""};
  }
  return {"user", Strength::Hard, "user namespace, uid 1000 inside, the caller's uid outside", ""};
}

Protection count_protection(const Abilities& abilities, const Limits& limits) {
  if (abilities.privilege == Privilege::Root) {
    return {"user_counts", Strength::Hard, "the kernel's limits per user apply to its own uid", ""};
  }
  const bool can_fill_flight = limits.open_files > Limits().open_files;
  return {"user_counts", Strength::Missing, "",
          fmt::format(
              "pipe pages{} are counted together with the caller's other programs: run as "
              "root{}",
              can_fill_flight ? ", epoll watches and descriptors in flight" : " and epoll watches",
              can_fill_flight ? ", or ask for fewer open files" : "")};
}

Protection open_files_protection(const Abilities& abilities, const Limits& limits) {
  const std::uint64_t allowed = allowed_open_files(limits, abilities.privilege);
  if (allowed == limits.open_files) return {"open_files", Strength::Hard, "RLIMIT_NOFILE", ""};
  return {"open_files", Strength::Hard,
          fmt::format("RLIMIT_NOFILE of {}, so that the caller's other programs can still send "
                      "descriptors",
                      allowed),
          ""};
}

Protection locks_protection(const SandboxSpec& spec) {
  const auto& waived = spec.unsafe_without;
  if (std::find(waived.begin(), waived.end(), "locks") == waived.end()) {
    return {"locks", Strength::Hard, "an overlay of its own over all files that it only reads", ""};
  }
  return {"locks", Strength::Missing, "", "leave out --unsafe-without locks"};
}

}  // namespace

bool pins_cpus(const Abilities& abilities) {
  return !abilities.cgroups.has_cpu();
}

Abilities Abilities::find(Privilege privilege) {
  Abilities abilities;
  abilities.privilege = privilege;
  abilities.cgroups = CgroupHost::find();
  abilities.landlock = landlock_abi();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    abilities.cores = static_cast<unsigned>(CPU_COUNT(&set));
  }
  return abilities;
}

Protections protections_for(const Abilities& abilities, const SandboxSpec& spec) {
  using enum Strength;
  Protections list = {
      {"network", Hard, "network namespace with loopback only", ""},
      {"filesystem", Hard, "mount namespace, read-only root, bounded scratch", ""},
      locks_protection(spec),
      {"process_isolation", Hard, "pid namespace, private /proc", ""},
      {"ipc", Hard, "ipc namespace", ""},
      {"hostname", Hard, "uts namespace", ""},
      identity_protection(abilities),
      count_protection(abilities, spec.limits),
      {"capabilities", Hard, "all dropped, bounding set empty, secure bits locked", ""},
      {"no_new_privileges", Hard, "prctl", ""},
      {"seccomp", Hard, "allow-list of system calls", ""},
      landlock_protection(abilities),
      cgroup_protection(abilities),
      memory_protection(abilities),
      cpu_protection(abilities, spec.limits),
      process_protection(abilities),
      {"disk", Hard, "size of one tmpfs for /workspace and /tmp; RLIMIT_FSIZE", ""},
      {"cpu_time", Watched, "RLIMIT_CPU per process (hard); init sums up the tree", ""},
      open_files_protection(abilities, spec.limits),
      {"output", Hard, "init stops reading at the limit and kills", ""},
      {"timeout", Hard, "init kills the whole tree; the host kills the sandbox", ""},
  };
  return list;
}

Result<> check_protections(const Protections& protections, const SandboxSpec& spec) {
  // A missing cgroup does not refuse the spec: each limit says how it is kept without one.
  return nutshell::check_protections(protections, spec,
                                     {{"landlock", "locks", "memory"}, {"cgroup", "user_counts"}});
}

Result<Protections> check_start(const Abilities& abilities, const SandboxSpec& spec) {
  Protections protections = protections_for(abilities, spec);
  TRY(check_protections(protections, spec));
  TRY(check_rlimits(spec.limits));
  TRY(check_fits_machine(spec.limits));
  if (spec.limits.millicpus > abilities.cores * 1000) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("cpus {:g} is more than this machine's {}: ask for at most {}",
                               spec.limits.millicpus / 1000.0, abilities.cores, abilities.cores));
  }
  return protections;
}

}  // namespace nutshell::native
