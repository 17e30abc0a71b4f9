// Finds where this process may make cgroups, and which controllers it can use there.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/native/cgroups/cgroup_mounts.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// The controllers that a directory of a cgroup is used for.
struct CgroupRoles {
  bool memory = false;
  bool pids = false;
  bool cpu = false;
  bool cpu_time = false;
  bool freezer = false;
};

// A directory of the host's cgroup file system. Groups are made in its subdirectory `nutshell`.
struct CgroupPlace {
  CgroupVersion version = CgroupVersion::None;
  CgroupRoles roles;
  std::string path;
  UniqueFd directory;
  std::vector<std::string> controllers;  // v2: which `nutshell` enables for its children
};

// Safe to read from many threads.
class CgroupHost {
 public:
  // Never fails: if this process may write nowhere, the version is None and why_not() says why. On
  // v2 it enables controllers for child cgroups, and may move this process into a leaf of its own
  // cgroup. For a plain user without a cgroup of his own, it moves this process into a scope that
  // the user's systemd delegates, if there is one.
  static CgroupHost find();
  // The same for the given text of /proc/self/mountinfo and /proc/self/cgroup.
  static CgroupHost find_in(std::string_view mountinfo, std::string_view memberships);
  // Opens places that another process found, to clean up there; leaves out those that are gone.
  static CgroupHost reopen(const std::vector<std::pair<CgroupVersion, std::string>>& places);

  [[nodiscard]] CgroupVersion version() const { return version_; }
  [[nodiscard]] bool has_memory() const { return has(&CgroupRoles::memory); }
  [[nodiscard]] bool has_pids() const { return has(&CgroupRoles::pids); }
  [[nodiscard]] bool has_cpu() const { return has(&CgroupRoles::cpu); }
  [[nodiscard]] bool has_freezer() const { return has(&CgroupRoles::freezer); }

  // On a v1 host, drops the directories that only freeze and count.
  void keep_limits_only();

  // Says which controllers are missing and why; empty if none is.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  // At most one of them is v2, and it is the last.
  [[nodiscard]] const std::vector<CgroupPlace>& places() const { return places_; }

 private:
  using Mounts = std::vector<CgroupMount>;
  using Memberships = std::vector<CgroupMembership>;

  // Takes the cgroup that this process is in.
  static CgroupHost find_own();
  static CgroupHost find_in(const Mounts& mounts, const Memberships& memberships);
  static CgroupHost without_cgroups(std::string_view why);
  [[nodiscard]] bool has(bool CgroupRoles::*role) const;
  void use_v1(const Mounts& mounts, const Memberships& memberships);
  void use_v1_controller(const CgroupLocation& own, bool CgroupRoles::*role);
  // Adds v2 beside v1 controllers, because processes frozen by v2 can still be killed.
  bool use_v2_for_killing(const Mounts& mounts, const Memberships& memberships);
  void use_v2(const CgroupLocation& own);
  void add_reason(std::string_view reason);

  CgroupVersion version_ = CgroupVersion::None;
  bool is_pure_v2_ = false;  // no v1 hierarchy has a controller that limits
  std::vector<CgroupPlace> places_;
  std::string why_not_;
};

}  // namespace nutshell::native
