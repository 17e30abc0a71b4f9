#include "backends/docker/container/container_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/docker/container/init_volume.h"
#include "backends/docker/engine/engine_facts.h"
#include "containers/container_layout.h"
#include "containers/ttl_clock.h"

namespace nutshell::docker {
namespace {

nlohmann::json body_of(const ContainerPlan& plan) {
  return nlohmann::json::parse(create_body(plan));
}

TEST(ContainerConfig, AsksForEveryProtectionByName) {
  const auto host = body_of({})["HostConfig"];
  EXPECT_EQ(host["NetworkMode"], "none");
  EXPECT_EQ(host["ReadonlyRootfs"], true);
  EXPECT_EQ(host["Privileged"], false);
  EXPECT_EQ(host["CapDrop"], nlohmann::json({"ALL"}));
  EXPECT_EQ(host["SecurityOpt"], nlohmann::json({"no-new-privileges"}));
  EXPECT_EQ(host["Memory"], host["MemorySwap"]);
  EXPECT_EQ(host["PidsLimit"], 64 + 2);
  EXPECT_EQ(host["NanoCpus"], 1'000'000'000);
  EXPECT_EQ(host["LogConfig"]["Type"], "none");
  EXPECT_EQ(host["AutoRemove"], true);
  EXPECT_FALSE(host.contains("Binds"));
  EXPECT_FALSE(host.contains("Devices"));
}

TEST(ContainerConfig, LetsInitWatchConnectionsForANetworkPolicyAlone) {
  ContainerPlan plan;
  plan.has_seccomp = true;
  EXPECT_FALSE(body_of(plan)["HostConfig"].contains("Sysctls"));
  plan.spec.network.allow = {"example.org"};
  const auto host = body_of(plan)["HostConfig"];
  EXPECT_EQ(host["NetworkMode"], "none");
  ASSERT_EQ(host["SecurityOpt"].size(), 2U);
  EXPECT_EQ(host["SecurityOpt"][1].get<std::string>().substr(0, 9), "seccomp={");
  EXPECT_EQ(host["Sysctls"]["net.ipv4.ip_unprivileged_port_start"], "0");
  plan.is_gvisor = true;
  EXPECT_EQ(body_of(plan)["HostConfig"]["SecurityOpt"].size(), 1U);
  EXPECT_FALSE(body_of(plan)["HostConfig"].contains("Sysctls"));
}

TEST(ContainerConfig, ImagesVolumesBecomeNothingToWriteTo) {
  ContainerPlan plan;
  plan.image.volumes = {"/data", "/workspace"};
  const auto tmpfs = body_of(plan)["HostConfig"]["Tmpfs"];
  EXPECT_EQ(tmpfs["/data"].get<std::string>().substr(0, 3), "ro,");
  EXPECT_EQ(tmpfs["/workspace"].get<std::string>().substr(0, 3), "rw,");
}

TEST(ContainerConfig, HoldsNoVariableOfTheSandbox) {
  ContainerPlan plan;
  plan.spec.environment = {"TOKEN=hunter2"};
  plan.labels = to_labels({"0123456789ab", "scope", plan.spec, containers::milliseconds_now()});
  EXPECT_EQ(create_body(plan).find("hunter2"), std::string::npos);
}

TEST(ContainerConfig, ScratchSizesAreTheDiskLimit) {
  for (const std::uint64_t bytes : {64ULL << 10U, 4ULL << 20U, (512ULL << 20U) + 1}) {
    const Limits limits;
    const auto sizes = containers::scratch_sizes(bytes, limits.memory_bytes);
    EXPECT_EQ(sizes.workspace + sizes.temporary + sizes.shared, bytes);
    EXPECT_GE(sizes.workspace, sizes.temporary);
    EXPECT_GT(sizes.shared, 0U);  // zero would be the engine's 64 MiB
    EXPECT_GT(sizes.temporary, 0U);
  }
}

TEST(SpecLabels, GiveTheSpecBack) {
  Remembered before;
  before.id = "0123456789ab";
  before.scope = "scope";
  before.spec.image = "debian";
  before.spec.limits.processes = 7;
  before.spec.labels = {{"a", "b\"c"}};
  before.expires_at = containers::milliseconds_now();
  const auto after = from_labels(to_labels(before));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->spec.limits, before.spec.limits);
  EXPECT_EQ(after->spec.labels, before.spec.labels);
  EXPECT_EQ(after->spec.ttl, before.spec.ttl);
  EXPECT_EQ(after->expires_at, before.expires_at);
}

TEST(SpecLabels, AreIgnoredIfOtherProgramsMadeThem) {
  EXPECT_FALSE(from_labels({}));
  EXPECT_FALSE(from_labels({{kIdLabel, "x"}, {"nutshell.spec", "[]"}, {"nutshell.expires", "1"}}));
  EXPECT_FALSE(from_labels({{kIdLabel, "x"}, {"nutshell.spec", "{}"}, {"nutshell.expires", "-"}}));
}

TEST(InitArchive, EndsWithTheNameOfAWholeProgram) {
  const std::string archive = make_init_archive(std::string(700, 'p'));
  EXPECT_EQ(archive.size(), 512U + 1024U + 512U + 1024U);
  EXPECT_EQ(archive.substr(0, 6), ".whole");
  EXPECT_EQ(archive.substr(1536, 13), "nutshell-init");
  EXPECT_EQ(archive[1536 + 156], '1');
}

TEST(EngineFacts, LimitsThatAnEngineLacksAreNamed) {
  EngineFacts facts;
  facts.has_seccomp = true;
  SandboxSpec spec;
  const auto refused = check_spec_here(facts, spec);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("processes: cannot be kept here"), std::string::npos);
  spec.unsafe_without = {"processes"};
  EXPECT_TRUE(check_spec_here(facts, spec));
  spec.requirements = {{"memory", true}};
  EXPECT_FALSE(check_spec_here(facts, spec));
  facts.has_seccomp = false;
  spec.requirements.clear();
  EXPECT_FALSE(check_spec_here(facts, spec));
}

TEST(ContainerConfig, AsksForNoLimitThatTheEngineCannotKeep) {
  ContainerPlan plan;
  plan.kept = {.memory = false, .cpu = false, .processes = false};
  const auto host = body_of(plan)["HostConfig"];
  for (const char* name : {"Memory", "MemorySwap", "NanoCpus", "PidsLimit"})
    EXPECT_FALSE(host.contains(name)) << name;
  EXPECT_TRUE(body_of({})["HostConfig"].contains("PidsLimit"));
}

TEST(ContainerConfig, WorkspaceOfTheHostIsNotMounted) {
  ContainerPlan plan;
  plan.spec.workspace = "/home/project";
  EXPECT_EQ(create_body(plan).find("/home/project"), std::string::npos);
}

TEST(ContainerConfig, WorkspaceIsAVolumeOrBoundedMemory) {
  ContainerPlan plan;
  EXPECT_TRUE(body_of(plan)["HostConfig"]["Tmpfs"].contains("/workspace"));
  plan.spec.workspace = "volume:x";
  plan.workspace_volume = "nutshell-workspace-0-x";
  const auto host = body_of(plan)["HostConfig"];
  EXPECT_FALSE(host.at("Tmpfs").contains("/workspace"));
  ASSERT_EQ(host.at("Mounts").size(), 2U);
  EXPECT_EQ(host.at("Mounts")[1].at("Type"), "volume");
  EXPECT_EQ(host.at("Mounts")[1].at("Source"), plan.workspace_volume);
  EXPECT_EQ(host.at("Mounts")[1].at("ReadOnly"), false);
}

}  // namespace
}  // namespace nutshell::docker
