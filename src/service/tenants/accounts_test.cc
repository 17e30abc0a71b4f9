#include "service/tenants/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace nutshell::service {
namespace {

using testing::HasSubstr;

Machine machine_of_24_gib() {
  return {24ULL << 30U, 2, 32'768};
}

class AccountsTest : public testing::Test {
 protected:
  AccountsTest() {
    rules_.machine = machine_quota(machine_of_24_gib(), 250ULL << 30U, {});
    rules_.default_quota = tenant_quota(rules_.machine);
  }
  std::size_t granted(const std::string& tenant, const Limits& limits, std::size_t tries = 2000) {
    std::size_t count = 0;
    const CurrentRules current(rules_);
    Accounts accounts(current);
    std::vector<Accounts::Charges> all;
    for (std::size_t i = 0; i < tries; ++i) {
      auto charges = accounts.take_sandbox(tenant, limits, 1000);
      if (charges) all.push_back(std::move(*charges));
      count = all.size();
    }
    return count;
  }
  TenantRules rules_;
};

TEST_F(AccountsTest, DefaultsFitTheMachine) {
  const Quota tenant = rules_.default_quota;
  EXPECT_LE(tenant[Resource::Memory], 48ULL << 30U);  // twice what there is, and never 1 TiB
  EXPECT_GT(tenant[Resource::Memory], 47ULL << 30U);
  EXPECT_LE(tenant[Resource::Processes], 32'768U / 4);
  EXPECT_LE(rules_.machine[Resource::Processes], 32'768U);
  EXPECT_LE(tenant[Resource::Disk], 250ULL << 30U);
  EXPECT_LE(tenant[Resource::OutputMemory], 24ULL << 30U >> 4U);
  for (const ResourceInfo& info : resources()) {
    EXPECT_GT(tenant[info.resource], 0U) << info.name;
    EXPECT_LE(tenant[info.resource], rules_.machine[info.resource]) << info.name;
  }
}

TEST_F(AccountsTest, EveryResourceOfASandboxIsBounded) {
  Limits limits;
  limits.memory_bytes = 900ULL << 30U;
  EXPECT_EQ(granted("a", limits), 0U);
  limits = {};
  limits.processes = 1'000'000;
  EXPECT_EQ(granted("a", limits), 0U);
  limits = {};
  limits.disk_bytes = 1ULL << 42U;
  EXPECT_EQ(granted("a", limits), 0U);
  limits = {};
  limits.millicpus = 1'000'000;
  EXPECT_EQ(granted("a", limits), 0U);
  limits = {};
  limits.processes = 1000;
  EXPECT_EQ(granted("a", limits), rules_.default_quota[Resource::Processes] / 1000);
}

TEST_F(AccountsTest, ARefusalTellsTheResourceAndLeavesNothingCharged) {
  const CurrentRules current(rules_);
  Accounts accounts(current);
  Limits limits;
  limits.disk_bytes = 1ULL << 42U;
  const auto refused = accounts.take_sandbox("a", limits, 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("disk bytes"));
  for (const ResourceInfo& info : resources())
    EXPECT_EQ(accounts.of("a", info.resource).used(), 0U) << info.name;
}

TEST_F(AccountsTest, TenantsTogetherStayWithinTheMachine) {
  const CurrentRules current(rules_);
  Accounts accounts(current);
  std::vector<Accounts::Charges> all;
  Limits limits;
  limits.processes = 1000;
  for (int tenant = 0; tenant < 8; ++tenant) {
    for (int i = 0; i < 100; ++i) {
      auto charges = accounts.take_sandbox("t" + std::to_string(tenant), limits, 1000);
      if (charges) all.push_back(std::move(*charges));
    }
  }
  EXPECT_EQ(all.size(), rules_.machine[Resource::Processes] / 1000);
  const auto refused = accounts.take_sandbox("late", limits, 1000);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("this machine has no processes left"));
}

TEST_F(AccountsTest, TheOwnerMayHaveAllOfTheMachine) {
  Limits limits;
  limits.processes = 1000;
  EXPECT_EQ(granted("local", limits), rules_.machine[Resource::Processes] / 1000);
}

TEST_F(AccountsTest, CountsQuotasExactlyUnderConcurrency) {
  rules_.default_quota[Resource::Sandboxes] = 10;
  const CurrentRules current(rules_);
  Accounts accounts(current);
  std::atomic<int> got = 0;
  std::vector<Accounts::Charges> kept(800);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        for (std::size_t n = 0; n < 100; ++n) {
          auto charges = accounts.take_sandbox("t", Limits{}, 10);
          if (!charges) continue;
          ++got;
          kept[i * 100 + n] = std::move(*charges);
        }
      });
    }
  }
  EXPECT_EQ(got, 10);
  kept.clear();
  EXPECT_TRUE(accounts.take_sandbox("t", Limits{}, 10));
}

TEST_F(AccountsTest, ATenantWithAQuotaOfZeroGetsNothing) {
  rules_.quotas["none"] = Quota();
  EXPECT_EQ(granted("none", Limits{}), 0U);
  EXPECT_GT(granted("other", Limits{}), 0U);
}

TEST_F(AccountsTest, FollowRulesThatChange) {
  rules_.quotas["a"] = rules_.default_quota;
  rules_.quotas["a"][Resource::Sandboxes] = 1;
  CurrentRules current(rules_);
  Accounts accounts(current);
  auto first = accounts.take_sandbox("a", Limits{}, 10);
  ASSERT_TRUE(first);
  EXPECT_FALSE(accounts.take_sandbox("a", Limits{}, 10));
  rules_.quotas["a"][Resource::Sandboxes] = 2;
  current.replace(rules_);
  accounts.follow_rules();
  EXPECT_TRUE(accounts.take_sandbox("a", Limits{}, 10));
  rules_.quotas["a"][Resource::Sandboxes] = 0;
  current.replace(rules_);
  accounts.follow_rules();
  EXPECT_EQ(accounts.of("a", Resource::Sandboxes).used(), 1U);  // what it holds stays its own
  EXPECT_FALSE(accounts.take_sandbox("a", Limits{}, 10));
  EXPECT_EQ(accounts.of("a", Resource::Sandboxes).left(), 0U);
}

}  // namespace
}  // namespace nutshell::service
