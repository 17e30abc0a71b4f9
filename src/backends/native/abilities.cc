#include "backends/native/abilities.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "backends/native/landlock.h"
#include "backends/native/rlimits.h"

namespace nutshell::native {
namespace {

constexpr const char* kDelegateFix =
    "run as root, or under a delegated cgroup: systemd-run --user --scope -p Delegate=yes …";

std::string cgroup_word(const Abilities& abilities, const char* controller) {
  return fmt::format("cgroup {} {}", abilities.cgroups.version() == CgroupVersion::V2 ? "v2" : "v1",
                     controller);
}

// The first of the reasons is enough to act on.
std::string why_no_cgroup(const Abilities& abilities) {
  const std::string& all = abilities.cgroups.why_not();
  return fmt::format("{}; {}", all.substr(0, all.find(';')), kDelegateFix);
}

Protection memory_protection(const Abilities& abilities) {
  if (abilities.cgroups.has_memory()) {
    return {"memory", Strength::Hard, cgroup_word(abilities, "memory"), ""};
  }
  return {"memory", Strength::Watched, "init looks every 20 ms and kills; RLIMIT_DATA per process",
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
      "CPU affinity, locked by seccomp; init looks every 10 ms and halts all for their fraction",
      fmt::format("ask for whole cores, or {}", kDelegateFix)};
}

Protection process_protection(const Abilities& abilities) {
  if (abilities.cgroups.has_pids()) {
    return {"pids", Strength::Hard,
            cgroup_word(abilities, "pids") + ", RLIMIT_NPROC in the sandbox's user namespace", ""};
  }
  return {"pids", Strength::Hard, "RLIMIT_NPROC in the sandbox's user namespace", ""};
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

// Not a default of its own: the limits say themselves how they are kept without it.
bool is_optional(const std::string& name) {
  return name == "cgroup";
}

bool is_accepted(const SandboxSpec& spec, const std::string& name) {
  return std::find(spec.unsafe_without.begin(), spec.unsafe_without.end(), name) !=
         spec.unsafe_without.end();
}

const Protection* find_protection(const Protections& protections, const std::string& name) {
  const auto found = std::find_if(protections.begin(), protections.end(),
                                  [&](const Protection& item) { return item.name == name; });
  return found == protections.end() ? nullptr : &*found;
}

std::string names_of(const Protections& protections) {
  std::string names;
  for (const Protection& protection : protections) {
    names += (names.empty() ? "" : ", ") + protection.name;
  }
  return names;
}

std::string requirement_problem(const Protections& protections, const Requirement& requirement) {
  const Protection* found = find_protection(protections, requirement.protection);
  if (found == nullptr) {
    return fmt::format("--require {}: no such protection; there are {}", requirement.protection,
                       names_of(protections));
  }
  if (found->strength == Strength::Missing) {
    return fmt::format("--require {}: missing here: {}", found->name, found->fix);
  }
  if (requirement.is_hard && found->strength != Strength::Hard) {
    return fmt::format("--require {}=hard: only watched here: {}", found->name, found->fix);
  }
  return {};
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
      {"processes", Hard, "pid namespace, private /proc", ""},
      {"ipc", Hard, "ipc namespace", ""},
      {"hostname", Hard, "uts namespace", ""},
      identity_protection(abilities),
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
      {"open_files", Hard, "RLIMIT_NOFILE", ""},
      {"output", Hard, "init stops reading at the limit and kills", ""},
      {"timeout", Hard, "init kills the whole tree; the host kills the sandbox", ""},
  };
  return list;
}

Result<> check_protections(const Protections& protections, const SandboxSpec& spec) {
  std::string problems;
  const auto add = [&](const std::string& problem) {
    if (!problem.empty()) problems += (problems.empty() ? "" : "\n") + problem;
  };
  for (const Protection& protection : protections) {
    const bool is_missing = protection.strength == Strength::Missing;
    if (!is_missing || is_optional(protection.name) || is_accepted(spec, protection.name)) continue;
    add(fmt::format("{}: cannot be kept here: {}", protection.name, protection.fix));
  }
  for (const Requirement& requirement : spec.requirements) {
    add(requirement_problem(protections, requirement));
  }
  for (const std::string& name : spec.unsafe_without) {
    if (name != "landlock")
      add(fmt::format("--unsafe-without {}: only landlock can be waived", name));
  }
  if (problems.empty()) return {};
  return failure(ErrorCode::Unsupported, problems);
}

}  // namespace nutshell::native
