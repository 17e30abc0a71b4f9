// A cgroup's name tells whose it is: <pid namespace inode>.<pid>.<start time>.<n>. No file has to
// be written before the group or kept in step with it, and a reused pid has another start time.
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

// Only the exact spelling this program gives to a name is one.
std::optional<CgroupName> parse_cgroup_name(std::string_view text);
std::string to_string(const CgroupName& name);

// This process as an owner, number 0. Fails where /proc shows another pid namespace than ours.
Result<CgroupName> cgroup_owner();
// The part of the name before ".<n>".
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
  Unknown,  // of another pid namespace: not ours to judge
};
OwnerState owner_state(const CgroupName& name, std::uint64_t own_pid_namespace);

}  // namespace nutshell::native
