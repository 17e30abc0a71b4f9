#include "backends/native/cgroups/cgroup_sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

// The time for each group, so that one that cannot be killed does not delay the others for long.
constexpr std::chrono::milliseconds kPatience{500};

// Looks in all hierarchies: an owner killed while it made or removed a group leaves it in some.
std::set<std::string> names_in(const CgroupHost& host, SweepReport& report) {
  std::set<std::string> names;
  for (const auto& place : host.places()) {
    const auto parent = open_at(place.directory.get(), kCgroupParent, O_RDONLY | O_DIRECTORY);
    if (!parent) continue;  // no groups here
    const auto children = child_cgroups(parent->get());
    if (!children) {
      report.failed.push_back(fmt::format("{}: {}", place.path, children.error().message));
      continue;
    }
    names.insert(children->begin(), children->end());
  }
  return names;
}

Result<> remove_group(const CgroupHost& host, const std::string& name) {
  auto cgroup = TRY(Cgroup::adopt(host, name));
  return cgroup.remove(Deadline::in(kPatience));
}

}  // namespace

SweepReport sweep_cgroups(const CgroupHost& host, SweepMode mode) {
  SweepReport report;
  const auto self = cgroup_owner();
  if (!self) {
    report.failed.push_back(self.error().message);
    return report;
  }
  for (const auto& text : names_in(host, report)) {
    const auto name = parse_cgroup_name(text);
    if (!name || owner_state(*name, self->pid_namespace) != OwnerState::Dead) continue;
    const auto removed = mode == SweepMode::DryRun ? Result<>() : remove_group(host, text);
    if (removed || removed.error().code == ErrorCode::NotFound) {
      report.removed.push_back(text);
    } else {
      report.failed.push_back(fmt::format("{}: {}", text, removed.error().message));
    }
  }
  if (mode == SweepMode::DryRun) return report;
  for (const auto& place : host.places()) {
    // Fails, as it should, while the directory has groups in it.
    (void)::unlinkat(place.directory.get(), kCgroupParent, AT_REMOVEDIR);
  }
  return report;
}

}  // namespace nutshell::native
