#include "backends/native/cgroups/cgroup_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "backends/native/cgroups/cgroup_v2_place.h"
#include "backends/native/cgroups/systemd_scope.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

struct V1Controller {
  const char* name;
  bool CgroupRoles::*role;
};

const std::array<V1Controller, 3> kLimiting = {
    {{"memory", &CgroupRoles::memory}, {"pids", &CgroupRoles::pids}, {"cpu", &CgroupRoles::cpu}}};
// Used only where there is no v2, which does both.
const std::array<V1Controller, 2> kOther = {
    {{"cpuacct", &CgroupRoles::cpu_time}, {"freezer", &CgroupRoles::freezer}}};

constexpr std::size_t kMostMountinfo = 64U << 20U;
// A service manager answers within milliseconds; a start goes on without a busy one.
constexpr auto kPatience = std::chrono::seconds(2);

// Drops the hierarchies that have none of the controllers above.
std::vector<CgroupMembership> without_unused(std::vector<CgroupMembership> memberships) {
  const auto has_a_role = [](const std::string& controller) {
    const auto is_named = [&](const V1Controller& known) { return controller == known.name; };
    return std::any_of(kLimiting.begin(), kLimiting.end(), is_named) ||
           std::any_of(kOther.begin(), kOther.end(), is_named);
  };
  std::erase_if(memberships, [&](const CgroupMembership& own) {
    return !own.controllers.empty() &&
           std::none_of(own.controllers.begin(), own.controllers.end(), has_a_role);
  });
  return memberships;
}

// v2 freezes since Linux 5.2. The root of the hierarchy has neither file, but its children freeze.
bool can_freeze(const CgroupPlace& place) {
  if (::faccessat(place.directory.get(), "cgroup.freeze", F_OK, 0) == 0) return true;
  return ::faccessat(place.directory.get(), "cgroup.events", F_OK, 0) != 0;
}

}  // namespace

CgroupHost CgroupHost::find() {
  // One thread at a time: a second scope would take this process out of the first one.
  static std::mutex joining;
  const std::lock_guard lock(joining);
  CgroupHost host = find_own();
  const bool has_limits = host.has_memory() || host.has_pids() || host.has_cpu();
  if (has_limits || ::geteuid() == 0 || !host.is_pure_v2_) return host;
  const auto scope = join_delegated_scope(user_systemd_socket(), Deadline::in(kPatience));
  if (scope) return find_own();
  if (scope.error().code != ErrorCode::NotFound) host.add_reason(scope.error().message);
  return host;
}

CgroupHost CgroupHost::find_own() {
  const auto text = read_file("/proc/self/cgroup");
  if (!text) return without_cgroups(text.error().message);
  const Memberships memberships = without_unused(parse_cgroup_memberships(*text));
  if (const auto mounts = usual_cgroup_mounts("/sys/fs/cgroup", memberships))
    return find_in(*mounts, memberships);
  const auto mountinfo = read_file("/proc/self/mountinfo", kMostMountinfo);
  if (!mountinfo) return without_cgroups(mountinfo.error().message);
  return find_in(parse_cgroup_mounts(*mountinfo), memberships);
}

CgroupHost CgroupHost::find_in(std::string_view mountinfo, std::string_view memberships) {
  return find_in(parse_cgroup_mounts(mountinfo), parse_cgroup_memberships(memberships));
}

CgroupHost CgroupHost::reopen(const std::vector<std::pair<CgroupVersion, std::string>>& places) {
  CgroupHost host;
  for (const auto& [version, path] : places) {
    auto directory = open_file(path, O_RDONLY | O_DIRECTORY);
    if (!directory) continue;
    host.places_.push_back({version, {}, path, std::move(*directory), {}});
    host.version_ = version;
  }
  return host;
}

CgroupHost CgroupHost::without_cgroups(std::string_view why) {
  CgroupHost host;
  host.add_reason(why);
  return host;
}

CgroupHost CgroupHost::find_in(const Mounts& mounts, const Memberships& memberships) {
  CgroupHost host;
  const bool has_v1 = std::any_of(kLimiting.begin(), kLimiting.end(), [&](const auto& controller) {
    return locate_cgroup(mounts, memberships, controller.name).has_value();
  });
  const auto v2 = locate_cgroup(mounts, memberships, {});
  host.is_pure_v2_ = !has_v1 && v2.has_value();
  if (has_v1) {
    host.use_v1(mounts, memberships);
  } else if (v2) {
    host.use_v2(*v2);
  } else {
    host.add_reason("no mounted cgroup file system shows the cgroup of this process");
  }
  return host;
}

bool CgroupHost::has(bool CgroupRoles::*role) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const CgroupPlace& place) { return place.roles.*role; });
}

void CgroupHost::keep_limits_only() {
  if (version_ != CgroupVersion::V1) return;
  std::erase_if(places_, [](const CgroupPlace& place) {
    return !place.roles.memory && !place.roles.pids && !place.roles.cpu;
  });
}

void CgroupHost::use_v1(const Mounts& mounts, const Memberships& memberships) {
  const auto use = [&](const V1Controller& controller) {
    const auto own = locate_cgroup(mounts, memberships, controller.name);
    if (!own) return add_reason(fmt::format("controller {} is not mounted", controller.name));
    use_v1_controller(*own, controller.role);
  };
  std::for_each(kLimiting.begin(), kLimiting.end(), use);
  if (!use_v2_for_killing(mounts, memberships)) std::for_each(kOther.begin(), kOther.end(), use);
  if (!places_.empty()) version_ = CgroupVersion::V1;
}

void CgroupHost::use_v1_controller(const CgroupLocation& own, bool CgroupRoles::*role) {
  for (auto& place : places_) {
    if (place.path != own.directory) continue;
    place.roles.*role = true;  // two controllers in one hierarchy, often cpu and cpuacct
    return;
  }
  auto directory = open_writable_directory(own.directory);
  if (!directory) {
    add_reason(directory.error().message);
    return;
  }
  CgroupPlace place{CgroupVersion::V1, {}, own.directory, std::move(*directory), {}};
  place.roles.*role = true;
  places_.push_back(std::move(place));
}

bool CgroupHost::use_v2_for_killing(const Mounts& mounts, const Memberships& memberships) {
  const auto own = locate_cgroup(mounts, memberships, {});
  if (!own) return false;
  auto directory = open_writable_directory(own->directory);
  if (!directory) return false;
  CgroupPlace place{CgroupVersion::V2, {}, own->directory, std::move(*directory), {}};
  if (!can_freeze(place)) return false;
  place.roles.cpu_time = true;
  place.roles.freezer = true;
  places_.push_back(std::move(place));
  return true;
}

void CgroupHost::use_v2(const CgroupLocation& own) {
  V2Place found = find_v2_place(own);
  if (!found.why_not.empty()) add_reason(found.why_not);
  if (!found.directory) return;
  CgroupPlace place{CgroupVersion::V2, {}, found.path, std::move(found.directory), {}};
  place.controllers = std::move(found.controllers);
  for (const auto& controller : kLimiting) {
    place.roles.*controller.role =
        std::count(place.controllers.begin(), place.controllers.end(), controller.name) > 0;
    if (place.roles.*controller.role || !found.why_not.empty()) continue;
    add_reason(fmt::format("{} cannot enable the controller {} for child cgroups", place.path,
                           controller.name));
  }
  place.roles.cpu_time = true;  // v2 counts it with and without the cpu controller
  place.roles.freezer = can_freeze(place);
  places_.push_back(std::move(place));
  version_ = CgroupVersion::V2;
}

void CgroupHost::add_reason(std::string_view reason) {
  if (!why_not_.empty()) why_not_ += "; ";
  why_not_ += reason;
}

}  // namespace nutshell::native
