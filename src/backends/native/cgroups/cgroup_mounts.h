// Where the cgroup hierarchies are mounted and where in them a process stands, read from the text
// of /proc/PID/mountinfo and /proc/PID/cgroup, or seen at their usual places.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::native {

enum class CgroupVersion { None, V1, V2 };

struct CgroupMount {
  CgroupVersion version = CgroupVersion::None;
  std::vector<std::string> options;  // of the super block: for v1 the controllers are among them
  std::string root;                  // the cgroup that is seen at mount_point
  std::string mount_point;
};

struct CgroupMembership {
  std::vector<std::string> controllers;  // empty for v2
  std::string path;
};

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);
std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text);

// The mounts of all hierarchies in which this process stands, if each of them is mounted whole at
// its usual place below `top`, which is /sys/fs/cgroup. The kernel tells that far sooner than it
// writes its mount table.
std::optional<std::vector<CgroupMount>> usual_cgroup_mounts(
    const std::string& top, const std::vector<CgroupMembership>& memberships);

// The directory of the cgroup `path` as seen through `mount`; nothing if it lies outside of it.
std::optional<std::string> directory_seen_through(const CgroupMount& mount, std::string_view path);

struct CgroupLocation {
  CgroupMount mount;
  std::string directory;  // of the process's own cgroup
};

// Where the process stands in the v1 hierarchy of `controller`, or in v2 if that is empty.
std::optional<CgroupLocation> locate_cgroup(const std::vector<CgroupMount>& mounts,
                                            const std::vector<CgroupMembership>& memberships,
                                            std::string_view controller);

}  // namespace nutshell::native
