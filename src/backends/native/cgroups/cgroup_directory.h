// One directory of a group: what is in it, and how it is emptied and removed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/native/cgroups/cgroup_host.h"
#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

struct CgroupDirectory {
  CgroupVersion version = CgroupVersion::None;
  CgroupRoles roles;
  UniqueFd fd;
};

// Sleeps a little longer every time. The kernel notifies of changes in cgroups at most every 10 ms,
// and v1 not at all, so looking again is the faster way to wait.
class Backoff {
 public:
  // False, without sleeping, once the deadline has passed.
  bool wait(const Deadline& deadline);

 private:
  std::chrono::microseconds span_{20};
};

Result<std::uint64_t> read_number(int directory, const char* file);
// The number behind `key` in lines of "key number".
Result<std::uint64_t> read_number(int directory, const char* file, std::string_view key);
std::uint64_t number_behind(std::string_view text, std::string_view key);

Result<std::vector<std::string>> child_cgroups(int directory);
// Processes here and in the groups below, by pid; 0 for one this pid namespace does not see.
Result<std::vector<pid_t>> list_processes(int directory);
Result<bool> has_processes(const CgroupDirectory& directory);

// Sends SIGKILL to what is in the group at the moment, never to a reused pid outside of it.
Result<> kill_listed_processes(int directory);

// Asks the kernel to freeze or thaw the group, and does not wait until it has.
enum class FreezerState { Frozen, Thawed };
Result<> request_state(const CgroupDirectory& directory, FreezerState state);
Result<bool> is_frozen(const CgroupDirectory& directory);
// Both wait until the group is in that state; at the deadline a group half frozen is thawed.
Result<> freeze_directory(const CgroupDirectory& directory, const Deadline& deadline);
Result<> thaw_directory(const CgroupDirectory& directory, const Deadline& deadline);

// Removes `name` below `parent` and the groups below it. It must have no processes; one that was
// only just emptied keeps its directory busy for a moment, so this tries until the deadline.
Result<> remove_directory(int parent, const std::string& name, const Deadline& deadline);

}  // namespace nutshell::native
