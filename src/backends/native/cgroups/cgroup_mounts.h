// Finds where the cgroup hierarchies are mounted and which cgroup a process is in, from the text of
// /proc/PID/mountinfo and /proc/PID/cgroup, or by looking at the usual mount points.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::native {

enum class CgroupVersion { None, V1, V2 };

struct CgroupMount {
  CgroupVersion version = CgroupVersion::None;
  std::vector<std::string> options;  // super block options; those of v1 name its controllers
  std::string root;                  // the cgroup that mount_point shows
  std::string mount_point;
};

struct CgroupMembership {
  std::vector<std::string> controllers;  // empty for v2
  std::string path;
};

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);
std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text);

// Returns the mounts of all hierarchies in `memberships` if each is mounted whole at its usual path
// below `top` (/sys/fs/cgroup), else nullopt. Looking there is much faster than reading the mount
// table.
std::optional<std::vector<CgroupMount>> usual_cgroup_mounts(
    const std::string& top, const std::vector<CgroupMembership>& memberships);

// Returns the directory that `mount` shows for the cgroup `path`; nullopt if it is outside.
std::optional<std::string> directory_seen_through(const CgroupMount& mount, std::string_view path);

struct CgroupLocation {
  CgroupMount mount;
  std::string directory;  // of the process's own cgroup
};

// Finds the process's cgroup in the v1 hierarchy of `controller`, or in v2 if that is empty.
std::optional<CgroupLocation> locate_cgroup(const std::vector<CgroupMount>& mounts,
                                            const std::vector<CgroupMembership>& memberships,
                                            std::string_view controller);

}  // namespace nutshell::native
