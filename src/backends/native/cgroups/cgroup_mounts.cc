#include "backends/native/cgroups/cgroup_mounts.h"

#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>

#include "backends/native/files/mounts.h"

namespace nutshell::native {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<std::string> split_words(std::string_view text) {
  const auto parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate"
std::optional<CgroupMount> parse_mount(std::string_view line) {
  const auto dash = line.find(" - cgroup");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, dash), ' ');
  const auto after = split(line.substr(dash + 3), ' ');
  if (before.size() < 6 || after.size() < 3) return std::nullopt;
  CgroupMount mount;
  if (after[0] == "cgroup") mount.version = CgroupVersion::V1;
  if (after[0] == "cgroup2") mount.version = CgroupVersion::V2;
  if (mount.version == CgroupVersion::None) return std::nullopt;
  mount.options = split_words(after.back());
  mount.root = unescape_mount_path(before[3]);
  mount.mount_point = unescape_mount_path(before[4]);
  return mount;
}

// In another cgroup namespace, "/" in a path is not the root of the hierarchy.
bool is_in_first_cgroup_namespace() {
  constexpr ino_t kFirstCgroupNamespace = 0xEFFFFFFB;
  struct stat status {};
  return ::stat("/proc/self/ns/cgroup", &status) == 0 && status.st_ino == kFirstCgroupNamespace;
}

// Whether the mount at `path` shows a hierarchy from its root on.
bool is_whole_hierarchy(const std::string& path, CgroupVersion version) {
  constexpr ino_t kRootOfHierarchy = 1;
  const long kind = version == CgroupVersion::V2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC;
  struct statfs system {};
  struct stat status {};
  return ::statfs(path.c_str(), &system) == 0 && system.f_type == kind &&
         ::stat(path.c_str(), &status) == 0 && status.st_ino == kRootOfHierarchy;
}

std::optional<CgroupMount> usual_mount(const std::string& top, const CgroupMembership& own) {
  using enum CgroupVersion;
  if (!own.controllers.empty()) {
    const std::string place = fmt::format("{}/{}", top, fmt::join(own.controllers, ","));
    if (!is_whole_hierarchy(place, V1)) return std::nullopt;
    return CgroupMount{V1, own.controllers, "/", place};
  }
  for (const std::string& place : {top, top + "/unified"})
    if (is_whole_hierarchy(place, V2)) return CgroupMount{V2, {}, "/", place};
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<CgroupMount>> usual_cgroup_mounts(
    const std::string& top, const std::vector<CgroupMembership>& memberships) {
  if (!is_in_first_cgroup_namespace()) return std::nullopt;
  std::vector<CgroupMount> mounts;
  for (const CgroupMembership& own : memberships) {
    auto mount = usual_mount(top, own);
    if (!mount) return std::nullopt;
    mounts.push_back(std::move(*mount));
  }
  return mounts;
}

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const auto line : split(mountinfo, '\n')) {
    if (auto mount = parse_mount(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text) {
  std::vector<CgroupMembership> memberships;
  for (const auto line : split(text, '\n')) {
    const auto first = line.find(':');
    if (first == std::string_view::npos) continue;
    const auto second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    memberships.push_back({split_words(line.substr(first + 1, second - first - 1)),
                           std::string(line.substr(second + 1))});
  }
  return memberships;
}

std::optional<std::string> directory_seen_through(const CgroupMount& mount, std::string_view path) {
  // A path with a leading ".." is outside of our cgroup namespace.
  if (!path.starts_with('/') || path.starts_with("/..")) return std::nullopt;
  if (mount.root != "/") {
    if (!path.starts_with(mount.root)) return std::nullopt;
    path.remove_prefix(mount.root.size());
    if (!path.empty() && path[0] != '/') return std::nullopt;
  }
  if (path == "/") path = {};
  return mount.mount_point + std::string(path);
}

std::optional<CgroupLocation> locate_cgroup(const std::vector<CgroupMount>& mounts,
                                            const std::vector<CgroupMembership>& memberships,
                                            std::string_view controller) {
  const bool is_v2 = controller.empty();
  const auto own = std::find_if(memberships.begin(), memberships.end(), [&](const auto& member) {
    return is_v2 ? member.controllers.empty() : contains(member.controllers, controller);
  });
  if (own == memberships.end()) return std::nullopt;
  for (const auto& mount : mounts) {
    if ((mount.version == CgroupVersion::V2) != is_v2) continue;
    if (!is_v2 && !contains(mount.options, controller)) continue;
    if (auto directory = directory_seen_through(mount, own->path)) {
      return CgroupLocation{mount, std::move(*directory)};
    }
  }
  return std::nullopt;
}

}  // namespace nutshell::native
