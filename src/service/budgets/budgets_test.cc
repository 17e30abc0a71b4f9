#include "service/budgets/budgets.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "service/state/store_fixture.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

class BudgetsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (IsSkipped()) return;
    auto opened = open_store();
    ASSERT_TRUE(opened) << opened.error().message;
    database_ = std::move(*opened);
    ASSERT_TRUE(database_->run(
        "INSERT INTO sessions VALUES('t','s','{}','ready','',1,'[]',0,0,0,0,0,0,0)"));
    begun_.emplace(*database_);
  }
  std::int64_t saved(const std::string& column) {
    std::int64_t value = -1;
    (void)database_->query("SELECT " + column + " FROM sessions", {},
                           [&value](const Row& row) { value = row.number(0); });
    return value;
  }
  Budgets& budgets() { return *begun_; }

  std::unique_ptr<Database> database_;
  std::optional<Budgets> begun_;
};
INSTANTIATE_TEST_SUITE_P(OnSqlite, BudgetsTest, testing::Values(StoreKind::Sqlite));
INSTANTIATE_TEST_SUITE_P(OnPostgres, BudgetsTest, testing::Values(StoreKind::Postgres));

TEST_P(BudgetsTest, CountsExecsExactlyUnderConcurrency) {
  budgets().define("t", "s", {.execs = 25}, {});
  std::atomic<int> got = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 20; ++n) {
          ExecLimits limits;
          const auto reservation = budgets().reserve("t", "s", limits);
          if (!reservation) continue;
          ++got;
          budgets().settle(*reservation, {1, 1us, 1us, 1});
        }
      });
    }
  }
  EXPECT_EQ(got, 25);
  EXPECT_EQ(budgets().usage("t", "s").execs, 25U);
  EXPECT_EQ(saved("execs"), 25);
  EXPECT_EQ(saved("output_bytes"), 25);
}

TEST_P(BudgetsTest, NarrowsAnExecToWhatIsLeft) {
  budgets().define("t", "s", {.wall_time = 10s, .output_bytes = 1000}, {});
  ExecLimits limits;
  limits.timeout = 8s;
  limits.output_bytes = 600;
  const auto first = budgets().reserve("t", "s", limits);
  ASSERT_TRUE(first);
  ExecLimits second_limits;
  const auto second = budgets().reserve("t", "s", second_limits);
  ASSERT_TRUE(second);
  EXPECT_EQ(second_limits.timeout, 2s);
  EXPECT_EQ(second_limits.output_bytes, 400U);
  ExecLimits third;
  EXPECT_FALSE(budgets().reserve("t", "s", third));
  budgets().settle(*first, {1, 0us, 1s, 100});
  ASSERT_TRUE(budgets().reserve("t", "s", third));
  EXPECT_EQ(third.timeout, 7s);
  EXPECT_EQ(third.output_bytes, 500U);
}

TEST_P(BudgetsTest, RefusesWithAClearWord) {
  budgets().define("t", "s", {.execs = 1}, {.execs = 1});
  ExecLimits limits;
  const auto refused = budgets().reserve("t", "s", limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  EXPECT_NE(refused.error().message.find("execs"), std::string::npos);
  EXPECT_TRUE(budgets().reserve("t", "no session", limits));
  EXPECT_TRUE(budgets().reserve("t", "", limits));
}

TEST_P(BudgetsTest, ACrashDoesNotGiveAnExecBack) {
  budgets().define("t", "s", {.execs = 5}, {});
  ExecLimits limits;
  ASSERT_TRUE(budgets().reserve("t", "s", limits));
  EXPECT_EQ(saved("execs"), 1);  // before it is done
}

// Init reads a block at a time and gives on what is within the limit.
TEST_P(BudgetsTest, CountNoUndeliveredOutput) {
  Budget budget;
  budget.output_bytes = 1000;
  budgets().define("t", "s", budget, {});
  ExecLimits limits;
  const auto reservation = budgets().reserve("t", "s", limits);
  ASSERT_TRUE(reservation);
  budgets().settle(*reservation, {1, 0us, 0us, 8192});
  EXPECT_EQ(budgets().usage("t", "s").output_bytes, 1000U);
}

TEST_P(BudgetsTest, ChargesWhatTheSandboxUsedWhoeverStartedIt) {
  budgets().define("t", "s", {.cpu_time = 1s}, {});
  budgets().count_cpu("t", "s", "box", 300ms);  // its setup: the budget begins here
  EXPECT_EQ(budgets().usage("t", "s").cpu_time, 0us);
  ExecLimits limits;
  const auto reservation = budgets().reserve("t", "s", limits);
  ASSERT_TRUE(reservation);
  budgets().count_cpu("t", "s", "box", 700ms);
  budgets().settle(*reservation, {1, 100ms, 1s, 0});  // the exec's own part is in the count
  EXPECT_EQ(budgets().usage("t", "s").cpu_time, 400ms);
  EXPECT_EQ(saved("cpu_us"), 400'000);
  EXPECT_EQ(budgets().why_over("t", "s"), "");
  budgets().count_cpu("t", "s", "box", 1300ms);  // a process that the exec left behind
  EXPECT_FALSE(budgets().reserve("t", "s", limits));
  EXPECT_NE(budgets().why_over("t", "s"), "");
}

TEST_P(BudgetsTest, ChargesWallTimeOfWhatAnExecLeavesRunning) {
  const auto start = Clock::now();
  budgets().define("t", "s", {.wall_time = 10s}, {});
  budgets().count_cpu("t", "s", "box", 100ms, start);
  ExecLimits limits;
  const auto reservation = budgets().reserve("t", "s", limits);
  ASSERT_TRUE(reservation);
  budgets().count_cpu("t", "s", "box", 1s, start + 2s);  // the exec's own, which it reports
  budgets().settle(*reservation, {1, 0us, 2s, 0});
  EXPECT_EQ(budgets().usage("t", "s").wall_time, 2s);
  budgets().count_cpu("t", "s", "box", 1001ms, start + 3s);  // nothing but init
  EXPECT_EQ(budgets().usage("t", "s").wall_time, 2s);
  budgets().count_cpu("t", "s", "box", 1500ms, start + 4s);
  EXPECT_EQ(budgets().usage("t", "s").wall_time, 3s);
  budgets().count_cpu("t", "s", "box", 1510ms, start + 9s);  // busy for a part of the time
  EXPECT_EQ(budgets().usage("t", "s").wall_time, 3500ms);
  EXPECT_EQ(budgets().why_over("t", "s"), "");
  budgets().count_cpu("t", "s", "box", 9s, start + 20s);
  EXPECT_NE(budgets().why_over("t", "s"), "");
  EXPECT_FALSE(budgets().reserve("t", "s", limits));
  EXPECT_EQ(saved("wall_us"), 14'500'000);
}

TEST_P(BudgetsTest, CountsNoWallTimeTwice) {
  const auto start = Clock::now();
  budgets().define("t", "s", {.wall_time = 10s}, {});
  budgets().count_cpu("t", "s", "box", 100ms, start);
  for (int i = 1; i <= 1000; ++i)  // usage is shown often, while a process spins
    budgets().count_cpu("t", "s", "box", 100ms + i * 1ms, start + i * 1ms);
  EXPECT_EQ(budgets().usage("t", "s").wall_time, 1s);
}

TEST_P(BudgetsTest, ChargesWhatWasUsedWhileNoDaemonRan) {
  budgets().define("t", "s", {.cpu_time = 1s}, {});
  budgets().count_cpu("t", "s", "box", 100ms);
  budgets().count_cpu("t", "s", "box", 200ms);
  Budgets next{*database_};
  next.define("t", "s", {.cpu_time = 1s}, {0, 100ms, 0us, 0});
  next.count_cpu("t", "s", "box", 500ms);
  EXPECT_EQ(next.usage("t", "s").cpu_time, 400ms);
  next.count_cpu("t", "s", "another", 50ms);  // the next life begins with its own count
  next.count_cpu("t", "s", "another", 60ms);
  EXPECT_EQ(next.usage("t", "s").cpu_time, 410ms);
}

TEST_P(BudgetsTest, IsBoundedByWhatCanBeUsedUpWhileACommandRuns) {
  budgets().define("t", "s", {.execs = 5}, {});
  EXPECT_FALSE(budgets().is_bounded("t", "s"));
  EXPECT_FALSE(budgets().is_bounded("t", ""));
  budgets().define("t", "s", {.wall_time = 1s}, {});
  EXPECT_TRUE(budgets().is_bounded("t", "s"));
}

}  // namespace
}  // namespace nutshell::service
