// The service starts after any change of its settings between two runs, keeps what tenants hold and
// ends what no pool wants any more.
#include <random>

#include "service/pools/pools.h"
#include "service_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

class SettingsChangeTest : public ServiceTest {
 protected:
  PoolSpec pool(const std::string& name, std::uint32_t min_idle, std::uint32_t processes) const {
    PoolSpec made;
    made.name = name;
    made.spec = spec_;
    made.spec.limits.processes = processes;
    made.min_idle = min_idle;
    made.max_idle = std::max(min_idle, 1U);
    made.max_total = 4;
    return made;
  }
  void restart_with(std::vector<PoolSpec> pools) {
    service_.reset();
    options_.pools = std::move(pools);
    open();
  }
  // Every pool has what it asks for, and nothing else runs but what tenants hold.
  bool is_settled() {
    std::size_t expected = held_.size();
    const auto pools = service_->pools().status(alice_);
    if (pools.size() != options_.pools.size()) return false;
    for (const PoolStatus& status : pools) {
      if (status.available != status.min_idle) return false;
      expected += status.available;
    }
    return running() == expected;
  }
  std::string acquire(const std::string& name) {
    AcquireRequest request;
    request.pool = name;
    const auto got = service_->pools().acquire(alice_, request);
    EXPECT_TRUE(got) << got.error().message;
    return got ? got->id : std::string();
  }

  std::vector<std::string> held_;
};

TEST_F(SettingsChangeTest, APoolThatLeavesIsEndedAndItsTenantsKeepTheirs) {
  restart_with({pool("p", 2, 40)});
  ASSERT_TRUE(soon([&] { return is_settled(); }));
  held_ = {acquire("p")};
  restart_with({});
  EXPECT_TRUE(soon([&] { return is_settled(); }));
  EXPECT_EQ(exec(alice_, held_.front(), "echo mine").output, "mine\n");
  AcquireRequest request;
  request.pool = "p";
  EXPECT_EQ(service_->pools().acquire(alice_, request).error().code, ErrorCode::NotFound);
  restart();
  ASSERT_TRUE(service_->pools().release(alice_, held_.front()));
  held_.clear();
  EXPECT_TRUE(soon([&] { return is_settled(); }));
}

TEST_F(SettingsChangeTest, APoolWithANewSpecHandsOutNoneOfTheOld) {
  restart_with({pool("p", 2, 40)});
  ASSERT_TRUE(soon([&] { return is_settled(); }));
  PoolSpec changed = pool("p", 2, 40);
  changed.spec.environment = {"NEW=1"};
  restart_with({changed});
  EXPECT_EQ(exec(alice_, acquire("p"), "echo $NEW").output, "1\n");
  changed.spec.environment = {"NEW=2"};
  ASSERT_TRUE(service_->pools().define(changed));
  EXPECT_EQ(exec(alice_, acquire("p"), "echo $NEW").output, "2\n");
}

TEST_F(SettingsChangeTest, APoolThatLeavesAtAReloadRefusesWhoeverWaits) {
  PoolSpec small = pool("p", 1, 40);
  small.max_total = 1;
  restart_with({small});
  held_ = {acquire("p")};
  std::jthread caller([&] {
    AcquireRequest request;
    request.pool = "p";
    EXPECT_EQ(service_->pools().acquire(alice_, request).error().code, ErrorCode::NotFound);
  });
  ASSERT_TRUE(soon([&] { return service_->pools().status(alice_).at(0).waiting == 1; }));
  options_.pools.clear();
  service_->pools().retire_all_but({});
  caller.join();
  EXPECT_TRUE(soon([&] { return is_settled(); }));
}

// Pools come, go and change; quotas shrink below what is held; lives get shorter.
TEST_F(SettingsChangeTest, AnySequenceOfChangesStarts) {
  const bool is_full = !variable("NUTSHELL_FULL").empty();
  const std::string seed = variable("NUTSHELL_SEED");
  std::mt19937 random(seed.empty() ? 16U : static_cast<unsigned>(std::stoul(seed)));
  const auto pick = [&random](std::uint32_t most) {
    return static_cast<std::uint32_t>(random() % (most + 1));
  };
  for (int run = 0; run < (is_full ? 60 : 8); ++run) {
    std::vector<PoolSpec> pools;
    for (const char* name : {"p", "q"}) {
      if (pick(2) > 0) pools.push_back(pool(name, pick(2), 40 + pick(1)));
    }
    service_.reset();
    options_.rules.quotas.clear();
    if (pick(1) == 1) {
      options_.rules.quotas["alice"] = options_.rules.default_quota;
      options_.rules.quotas["alice"][Resource::Sandboxes] = 1 + pick(2);
    }
    options_.longest_life = pick(1) == 1 ? 1h : 24h;
    options_.pools = pools;
    open();
    ASSERT_TRUE(service_) << "run " << run;
    ASSERT_TRUE(soon([&] { return is_settled(); })) << "run " << run;
    for (const std::string& id : held_)
      EXPECT_EQ(exec(alice_, id, "echo mine").output, "mine\n") << "run " << run;
    if (!held_.empty() && pick(1) == 1) {
      ASSERT_TRUE(service_->pools().release(alice_, held_.back()));
      held_.pop_back();
    }
    if (pools.empty() || held_.size() > 1) continue;
    AcquireRequest request;
    request.pool = pools.front().name;
    // The quota may refuse it, or what is held of a pool with an earlier spec may fill it.
    if (const auto got = service_->pools().acquire(alice_, request)) held_.push_back(got->id);
  }
}

}  // namespace
}  // namespace nutshell::service
