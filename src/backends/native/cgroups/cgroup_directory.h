// One directory of a cgroup: lists, freezes and kills its processes, and removes it.
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

// Waits between two looks at a cgroup, twice as long each time. Polling is faster than waiting for
// a notification: v2 sends one at most every 10 ms, v1 sends none.
class Backoff {
 public:
  // False, without sleeping, once the deadline has passed.
  bool wait(const Deadline& deadline);

 private:
  std::chrono::microseconds span_{20};
};

Result<std::uint64_t> read_number(int directory, const char* file);
// Reads the number after `key` in lines of "key number"; 0 if there is no such line.
Result<std::uint64_t> read_number(int directory, const char* file, std::string_view key);
std::uint64_t number_behind(std::string_view text, std::string_view key);

Result<std::vector<std::string>> child_cgroups(int directory);
// Pids of the processes in this cgroup and its descendants; 0 for one in another pid namespace.
Result<std::vector<pid_t>> list_processes(int directory);
Result<bool> has_processes(const CgroupDirectory& directory);

// Sends SIGKILL to every process that is in the cgroup now, never to a reused pid outside of it.
Result<> kill_listed_processes(int directory);

// Asks the kernel to freeze or thaw the cgroup, and does not wait until it is done.
enum class FreezerState { Frozen, Thawed };
Result<> request_state(const CgroupDirectory& directory, FreezerState state);
Result<bool> is_frozen(const CgroupDirectory& directory);
// Both wait until the cgroup is in that state. freeze_directory() thaws it again at the deadline.
Result<> freeze_directory(const CgroupDirectory& directory, const Deadline& deadline);
Result<> thaw_directory(const CgroupDirectory& directory, const Deadline& deadline);

// Removes the cgroup `name` below `parent` and its descendants, which must have no processes. The
// directory stays busy for a moment after the last process has left, so this retries until the
// deadline.
Result<> remove_directory(int parent, const std::string& name, const Deadline& deadline);

}  // namespace nutshell::native
