#include "backends/gvisor/oci_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "containers/container_layout.h"
#include "core/json_text.h"

namespace nutshell::gvisor {
namespace {

using namespace containers;  // NOLINT(google-build-using-namespace): the layout's constants
using Json = nlohmann::json;

constexpr std::uint64_t kPeriodMicroseconds = 100'000;

Json limit_of(const char* name, std::uint64_t value) {
  return {{"type", name}, {"soft", value}, {"hard", value}};
}

Json process_of(const BundlePlan& plan) {
  const Limits& limits = plan.spec.limits;
  Json none = Json::object();
  for (const char* set : {"bounding", "effective", "permitted", "inheritable", "ambient"})
    none[set] = Json::array();
  return {{"terminal", false},
          {"user", {{"uid", kSandboxUserId}, {"gid", kSandboxUserId}}},
          {"args", {kInitProgram, "serve", kSocketName, "orders"}},
          {"env", Json::array()},
          {"cwd", "/"},
          {"capabilities", none},
          {"rlimits",
           {limit_of("RLIMIT_NPROC", limits.processes + kOurProcesses),
            limit_of("RLIMIT_NOFILE", std::max(limits.open_files, kLeastOpenFiles)),
            limit_of("RLIMIT_CORE", 1), limit_of("RLIMIT_FSIZE", limits.disk_bytes + kBeyondDisk)}},
          {"noNewPrivileges", true}};
}

Json scratch(const char* target, std::uint64_t bytes, std::vector<std::string> more) {
  std::vector<std::string> options = {"nosuid", "nodev", fmt::format("size={}", bytes)};
  options.insert(options.end(), more.begin(), more.end());
  return {{"destination", target}, {"type", "tmpfs"}, {"source", "tmpfs"}, {"options", options}};
}

Json host_mount(const std::string& source, const std::string& target, UnsafeMount::Access access) {
  const bool is_read_only = access == UnsafeMount::Access::ReadOnly;
  return {{"destination", target},
          {"type", "bind"},
          {"source", source},
          {"options", {"rbind", "rprivate", "nosuid", "nodev", is_read_only ? "ro" : "rw"}}};
}

Json mounts_of(const BundlePlan& plan) {
  using enum UnsafeMount::Access;
  const Limits& limits = plan.spec.limits;
  const GvisorScratchSizes sizes = scratch_sizes_for(limits);
  const std::vector<std::string> owned = {"uid=1000", "gid=1000", "mode=0755"};
  Json mounts = Json::array();
  mounts.push_back({{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}});
  mounts.push_back(scratch("/dev/shm", sizes.shared, {"mode=1777"}));
  for (const SharedPath& path : plan.sharing)
    mounts.push_back(host_mount(path.source, path.target, ReadOnly));
  mounts.push_back(scratch(kWorkspace, sizes.workspace, owned));
  mounts.push_back(scratch("/tmp", sizes.temporary, {"mode=1777"}));
  mounts.push_back(
      scratch(kStoreDirectory, sizes.kept, {"noexec", "uid=1000", "gid=1000", "mode=0700"}));
  mounts.push_back(host_mount(plan.init_program, kInitProgram, ReadOnly));
  for (const UnsafeMount& mount : plan.spec.unsafe_mounts)
    mounts.push_back(host_mount(mount.source, mount.target, mount.access));
  return mounts;
}

Json resources_of(const Limits& limits) {
  const std::uint64_t memory = limits.memory_bytes + kGvisorMemory;
  const std::uint32_t threads = gvisor_threads_for(limits.processes + kOurProcesses);
  return {
      {"memory", {{"limit", memory}, {"swap", memory}}},  // the sum of both: no swap
      {"cpu",
       {{"quota", kPeriodMicroseconds * limits.millicpus / 1000}, {"period", kPeriodMicroseconds}}},
      {"pids", {{"limit", threads}}}};
}

Json linux_of(const BundlePlan& plan) {
  Json spaces = Json::array();
  for (const char* kind : {"pid", "ipc", "uts", "mount", "network"})
    spaces.push_back({{"type", kind}});
  Json parts = {{"namespaces", spaces}};
  if (plan.host.cgroup.empty()) return parts;
  parts["cgroupsPath"] = fmt::format("/{}/{}", kCgroupParent, plan.id);
  parts["resources"] = resources_of(plan.spec.limits);
  return parts;
}

}  // namespace

std::string config_of(const BundlePlan& plan) {
  const Json config = {{"ociVersion", "1.0.2"},
                       {"process", process_of(plan)},
                       {"root", {{"path", "rootfs"}, {"readonly", true}}},
                       {"hostname", "nutshell"},
                       {"mounts", mounts_of(plan)},
                       {"linux", linux_of(plan)}};
  return dump_json(config);
}

}  // namespace nutshell::gvisor
