// The name of a cgroup says which process owns it: <pid namespace inode>.<pid>.<start time>.<n>. So
// no file has to record the owner, and a later process with the same pid has another start time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::native {

struct CgroupName {
  std::uint64_t pid_namespace = 0;
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat
  std::uint64_t number = 0;

  bool operator==(const CgroupName&) const = default;
};

// Accepts only what to_string() writes.
std::optional<CgroupName> parse_cgroup_name(std::string_view text);
std::string to_string(const CgroupName& name);

// Returns this process as an owner, with number 0. Fails where /proc shows another pid namespace.
Result<CgroupName> cgroup_owner();
// Returns the part of this process's cgroup names before ".<n>".
Result<std::string> cgroup_owner_name();

struct ProcessStat {
  pid_t pid = 0;
  char state = '?';
  std::uint64_t threads = 0;
  std::uint64_t start_time = 0;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

enum class OwnerState {
  Alive,
  Dead,
  Unknown,  // the owner is in another pid namespace
};
OwnerState owner_state(const CgroupName& name, std::uint64_t own_pid_namespace);

}  // namespace nutshell::native
