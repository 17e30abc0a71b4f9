#include "backends/gvisor/oci_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "containers/container_layout.h"

namespace nutshell::gvisor {
namespace {

using Json = nlohmann::json;

BundlePlan plan() {
  BundlePlan plan;
  plan.id = "abc";
  plan.host = {.is_root = true, .cgroup = "cgroup v1", .cores = 4};
  plan.init_program = "/opt/nutshell-init";
  plan.sharing = {{"/usr", "/usr"}};
  plan.spec.limits = {.memory_bytes = 64U << 20U, .millicpus = 500, .processes = 20};
  return plan;
}

Json config(const BundlePlan& plan) {
  return Json::parse(config_of(plan));
}

const Json* mount_at(const Json& config, const std::string& target) {
  const Json& mounts = config["mounts"];
  const auto found = std::find_if(mounts.begin(), mounts.end(), [&](const Json& mount) {
    return mount["destination"] == target;
  });
  return found == mounts.end() ? nullptr : &*found;
}

bool has_option(const Json& mount, const std::string& option) {
  const Json& options = mount["options"];
  return std::find(options.begin(), options.end(), option) != options.end();
}

TEST(OciConfig, AsksForEveryProtectionByName) {
  const Json made = config(plan());
  EXPECT_EQ(made["process"]["user"]["uid"], 1000);
  EXPECT_EQ(made["process"]["noNewPrivileges"], true);
  for (const auto& [set, capabilities] : made["process"]["capabilities"].items())
    EXPECT_TRUE(capabilities.empty()) << set;
  EXPECT_EQ(made["process"]["capabilities"].size(), 5U);
  EXPECT_EQ(made["root"]["readonly"], true);
  EXPECT_EQ(made["linux"]["namespaces"].size(), 5U);
}

TEST(OciConfig, LimitsCountGvisorBesideTheSandbox) {
  const Json made = config(plan());
  const Json& resources = made["linux"]["resources"];
  EXPECT_EQ(resources["memory"]["limit"], (64U << 20U) + containers::kGvisorMemory);
  EXPECT_EQ(resources["memory"]["swap"], resources["memory"]["limit"]);
  EXPECT_EQ(resources["cpu"]["quota"], 50'000);
  EXPECT_GE(resources["pids"]["limit"], 20 + containers::kGvisorThreads);
  EXPECT_EQ(made["linux"]["cgroupsPath"], "/nutshell-gvisor/abc");
  EXPECT_EQ(made["process"]["rlimits"][0]["type"], "RLIMIT_NPROC");
  EXPECT_EQ(made["process"]["rlimits"][0]["hard"], 22);
}

TEST(OciConfig, WithoutACgroupNoneIsNamed) {
  BundlePlan rootless = plan();
  rootless.host.cgroup = "";
  const Json made = config(rootless);
  EXPECT_FALSE(made["linux"].contains("cgroupsPath"));
  EXPECT_FALSE(made["linux"].contains("resources"));
}

TEST(OciConfig, HostFilesAreReadOnly) {
  const Json made = config(plan());
  for (const char* target : {"/usr", containers::kInitProgram}) {
    const Json* mount = mount_at(made, target);
    ASSERT_NE(mount, nullptr) << target;
    EXPECT_TRUE(has_option(*mount, "ro")) << target;
    EXPECT_TRUE(has_option(*mount, "nosuid")) << target;
  }
}

TEST(OciConfig, WorkspaceOfTheHostIsNotMounted) {
  BundlePlan with_workspace = plan();
  with_workspace.spec.workspace = "/home/project";
  EXPECT_EQ(config(with_workspace).dump().find("/home/project"), std::string::npos);
}

TEST(OciConfig, OnlyAnUnsafeMountIsWritable) {
  BundlePlan mounted = plan();
  mounted.spec.unsafe_mounts = {{"/a", "/x", UnsafeMount::Access::ReadOnly},
                                {"/b", "/y", UnsafeMount::Access::ReadWrite}};
  const Json made = config(mounted);
  EXPECT_TRUE(has_option(*mount_at(made, "/x"), "ro"));
  EXPECT_TRUE(has_option(*mount_at(made, "/y"), "rw"));
}

TEST(OciConfig, ScratchSizesTogetherAreTheDisk) {
  BundlePlan small = plan();
  small.spec.limits.disk_bytes = 40U << 20U;
  const Json made = config(small);
  EXPECT_TRUE(has_option(*mount_at(made, "/workspace"), "size=31457280"));
  EXPECT_TRUE(has_option(*mount_at(made, "/tmp"), "size=7864320"));
  EXPECT_TRUE(has_option(*mount_at(made, "/dev/shm"), "size=2621440"));
  small.spec.limits.memory_bytes = 32U << 20U;  // the files are in it
  const Json less = config(small);
  EXPECT_TRUE(has_option(*mount_at(less, "/workspace"), "size=25165824"));
  EXPECT_TRUE(has_option(*mount_at(less, "/tmp"), "size=6291456"));
}

TEST(HostFacts, WithoutACgroupLimitsAreReportedAsWatched) {
  SandboxSpec spec;
  spec.limits.millicpus = 500;
  const HostFacts facts{.is_root = false, .cgroup = "", .cores = 4};
  for (const Protection& protection : protections_for(facts, spec)) {
    const bool is_watched =
        protection.name == "memory" || protection.name == "cpus" || protection.name == "cpu_time";
    EXPECT_EQ(protection.strength, is_watched ? Strength::Watched : Strength::Hard)
        << protection.name;
  }
  spec.requirements = {{"memory", true}};
  EXPECT_FALSE(check_spec_here(facts, spec));
}

TEST(HostFacts, WithoutRootAMountIsReadOnlyOrRefused) {
  SandboxSpec spec;
  spec.unsafe_mounts = {{"/srv/data", "/workspace/d", UnsafeMount::Access::ReadOnly}};
  const HostFacts plain{.is_root = false, .cgroup = "", .cores = 4};
  EXPECT_TRUE(check_spec_here(plain, spec));
  spec.unsafe_mounts.push_back({"/srv/more", "/workspace/m", UnsafeMount::Access::ReadWrite});
  const auto refused = check_spec_here(plain, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().message.find("/srv/more"), std::string::npos);
  EXPECT_TRUE(check_spec_here({.is_root = true, .cgroup = "cgroup v2", .cores = 4}, spec));
}

}  // namespace
}  // namespace nutshell::gvisor
