#include "daemon/config.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/machine.h"
#include "base/scratch_fixture.h"
#include "daemon/quotas.h"
#include "daemon/reload.h"

namespace nutshell::daemon {
namespace {

class ConfigTest : public testing::Test {
 protected:
  Result<Config> load(const std::string& text) {
    EXPECT_TRUE(write_file(scratch_ / "c.toml", text));
    return Config::load(scratch_ / "c.toml");
  }
  ScratchDirectory scratch_;
};

const std::string kToken =
    "[[tokens]]\nname = \"a\"\ntenant = \"t\"\nsha256 = \"" + std::string(64, 'a') + "\"\n";

TEST_F(ConfigTest, EveryValueKnowsItsOrigin) {
  const auto config = load("drain_seconds = 5\n[tcp]\nport = 7070\nhosts = [\"a\", \"b\"]\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->number("tcp.port"), 7070U);
  EXPECT_EQ(config->texts("tcp.hosts"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config->settings().at("tcp.port").origin, (scratch_ / "c.toml").native() + ":3");
  EXPECT_EQ(config->settings().at("tcp.address").origin, "default");
}

TEST_F(ConfigTest, ReadsTokensPoolsAndQuotas) {
  const auto config = load(kToken +
                           "[[pools]]\nname = \"p\"\nmemory = \"1g\"\nmin_idle = 2\n"
                           "[[quotas]]\ntenant = \"t\"\nsandboxes = 3\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tokens.front().tenant, "t");
  EXPECT_EQ(config->pools.front().spec.limits.memory_bytes, 1ULL << 30U);
  EXPECT_EQ(config->quotas.at("t").most.at(service::Resource::Sandboxes), 3U);
}

TEST_F(ConfigTest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(load("[tcp]\nprot = 1\n").error().message.find("did you mean 'tcp.port'"),
            std::string::npos);
  for (const char* wrong :
       {"x = 1", "[tcp]\nport = -1", "[tcp]\nport = \"1\"", "[[other]]\nx = 1",
        "[[tokens]]\nname = \"a\"", "[[pools]]\nmin_idle = 1", "[tcp", "[socket]\npath = 5",
        "[tcp]\nhosts = [1]", "[quota]\nspool_bytes = \"x\"", "[quota]\nspool_bytes = -1",
        "[quota]\nprocesses = \"1m\"", "[allow]\nbackends = \"x\"", "[limits]\nspool_bytes = true",
        "[machine]\ncpu_overcommit = -1", "[quota]\nprocess = 1"}) {
    EXPECT_FALSE(load(wrong)) << wrong;
  }
}

TEST_F(ConfigTest, TakesNoWrongValueForNone) {
  const std::string pool = "[[pools]]\nname = \"p\"\n";
  const std::string quota = "[[quotas]]\ntenant = \"t\"\n";
  for (const std::string& wrong :
       {pool + "min_idle = \"8\"",
        pool + "max_total = -1",
        pool + "processes = 1.5",
        pool + "max_idle = 5000000000",
        pool + "memory = \"much\"",
        pool + "image = 5",
        pool + "tenants = \"t\"",
        pool + "tenants = [1]",
        pool + "environment = [\"=x\"]",
        pool + "require = \"seccomp\"",
        pool + "memory = 1",
        quota + "sandboxes = \"3\"",
        quota + "sandboxes = -1",
        quota + "cpus = true",
        quota + "cpus = -0.5",
        quota + "cpus = \"4\"",
        quota + "kept_bytes = \"x\"",
        quota + "processes = \"9\"",
        quota + "backends = \"native\"",
        quota + "images = [1]",
        std::string("[[quotas]]\ntenant = 5"),
        std::string("[[certificates]]\nname = 1"),
        std::string("[[tokens]]\nname = \"a\"\ntenant = 1\nsha256 = \"b\"")}) {
    const auto config = load(wrong);
    ASSERT_FALSE(config) << wrong;
    EXPECT_NE(config.error().message.find("c.toml:1:"), std::string::npos)
        << config.error().message;
  }
}

TEST_F(ConfigTest, QuotasOfCpusAreInCores) {
  const auto config = load("[quota]\ncpus = 1.5\n[[quotas]]\ntenant = \"t\"\ncpus = 4\n");
  ASSERT_TRUE(config) << config.error().message;
  const auto rules = tenant_rules(*config, "/");
  EXPECT_EQ(rules.default_quota[service::Resource::Millicpus], 1500U);
  EXPECT_EQ(rules.quotas.at("t")[service::Resource::Millicpus], 4000U);
  EXPECT_EQ(config->text("quota.cpus"), "1.5");
}

TEST_F(ConfigTest, BoundsOfAPoolThatAreNotGivenFollowTheOthers) {
  struct Case {
    const char* given;
    std::uint32_t max_idle;
    std::uint32_t max_total;
  };
  for (const auto& [given, max_idle, max_total] :
       {Case{"", 5, 20}, Case{"min_idle = 1\nmax_total = 4", 4, 4}, Case{"min_idle = 8", 8, 20},
        Case{"min_idle = 30", 30, 30}, Case{"max_idle = 40", 40, 40},
        Case{"max_total = 2", 2, 2}}) {
    const auto config = load(std::string("[[pools]]\nname = \"p\"\n") + given);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->pools.front().max_idle, max_idle) << given;
    EXPECT_EQ(config->pools.front().max_total, max_total) << given;
  }
}

TEST_F(ConfigTest, QuotasComeFromTheMachineAndFromTheFile) {
  const auto config = load(
      "[quota]\nprocesses = 40\nspool_bytes = \"2m\"\nsessions = 9000000\n"
      "[allow]\nbackends = [\"gvisor\"]\n"
      "[machine]\nmemory_overcommit = 100\n"
      "[limits]\nspool_bytes = 5\n"
      "[[quotas]]\ntenant = \"t\"\nmemory_bytes = \"1g\"\nbackends = []\n");
  ASSERT_TRUE(config) << config.error().message;
  const service::TenantRules rules = tenant_rules(*config, "/");
  using enum service::Resource;
  EXPECT_EQ(rules.machine[Memory] / 100, read_machine().memory_bytes / 100);
  EXPECT_EQ(rules.quota_of("other")[Processes], 40U);
  EXPECT_EQ(rules.quota_of("t")[Processes], 40U);  // left out: as [quota] says
  EXPECT_EQ(rules.quota_of("t")[Memory], 1ULL << 30U);
  EXPECT_EQ(rules.quota_of("t")[SpoolBytes], 2U << 20U);
  EXPECT_EQ(rules.quota_of("local")[Processes], rules.machine[Processes]);
  EXPECT_GE(rules.machine[Sessions], 9'000'000U);  // room that the daemon gives
  EXPECT_EQ(rules.bounds.spool_bytes, 5U);
  EXPECT_EQ(rules.allowed_of("other").backends.size(), 1U);
  EXPECT_TRUE(rules.allowed_of("t").backends.empty());
  EXPECT_NE(default_quota_text(*config, "/", "quota.disk_bytes"), "");
  EXPECT_EQ(default_quota_text(*config, "/", "tcp.key"), "");
}

TEST_F(ConfigTest, PoolsHaveEveryLimit) {
  const auto config = load(
      "[[pools]]\nname = \"p\"\nmemory = 536870912\ndisk = \"64m\"\nopen_files = 100\n"
      "environment = [\"A=1\"]\nrequire = [\"seccomp\"]\nttl = 7\ncpus = 0.5\nspare_timeout = "
      "\"2m\"\n");
  ASSERT_TRUE(config) << config.error().message;
  const SandboxSpec& spec = config->pools.front().spec;
  EXPECT_EQ(spec.limits.memory_bytes, 512U << 20U);
  EXPECT_EQ(spec.limits.disk_bytes, 64U << 20U);
  EXPECT_EQ(spec.limits.open_files, 100U);
  EXPECT_EQ(spec.environment, std::vector<std::string>{"A=1"});
  EXPECT_EQ(spec.requirements.size(), 1U);
  EXPECT_EQ(spec.ttl, std::chrono::seconds(7));
  EXPECT_EQ(spec.limits.millicpus, 500U);
  EXPECT_EQ(config->pools.front().idle_timeout, std::chrono::minutes(2));
}

TEST_F(ConfigTest, LeavesNoDoorOpen) {
  const auto doors = [&](const std::string& text) { return check_doors(*load(text)); };
  EXPECT_TRUE(doors(""));
  EXPECT_FALSE(doors("[tcp]\nport = 1\n"));
  EXPECT_TRUE(doors("[tcp]\nport = 1\n" + kToken));
  EXPECT_FALSE(doors("[tcp]\nport = 1\naddress = \"0.0.0.0\"\n" + kToken));
  EXPECT_TRUE(doors("[tcp]\nport = 1\naddress = \"0.0.0.0\"\nunsafe_plain = true\n" + kToken));
  EXPECT_FALSE(doors("[tcp]\nport = 1\nclient_authority = \"ca\"\n" + kToken));
}

TEST_F(ConfigTest, TellsWhatChangesNowAndWhatNeedsARestart) {
  const auto before = load(kToken + "[tcp]\nport = 7070\n[quota]\nsandboxes = 3\n");
  const auto after = load(
      "[tcp]\nport = 7071\nhosts = [\"a\", \"b\"]\n[quota]\nsandboxes = 5\n"
      "[[quotas]]\ntenant = \"t\"\nbackends = [\"native\"]\n[[pools]]\nname = \"p\"\n");
  ASSERT_TRUE(before && after);
  const ConfigChanges changes = compare(*before, *after);
  EXPECT_EQ(changes.taken_over,
            (std::vector<std::string>{"quota.sandboxes: 5, was 3", "tcp.hosts: a,b, was (empty)",
                                      "pool p: added", "quota of t: added", "token a: removed"}));
  EXPECT_EQ(changes.need_restart, std::vector<std::string>{"tcp.port: 7071, was 7070"});
  EXPECT_TRUE(compare(*after, *after).taken_over.empty());
}

}  // namespace
}  // namespace nutshell::daemon
