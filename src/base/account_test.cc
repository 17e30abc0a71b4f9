#include "base/account.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace nutshell {
namespace {

TEST(Account, RefusesWhatGoesBeyondItAndChangesNothing) {
  Account account(10);
  auto first = account.take(7);
  ASSERT_TRUE(first);
  EXPECT_FALSE(account.take(4));
  EXPECT_FALSE(account.take(Account::kUnbounded));
  EXPECT_EQ(account.used(), 7U);
  EXPECT_EQ(account.left(), 3U);
  EXPECT_TRUE(account.take(3));
}

TEST(Account, GetsBackWhatAChargeHad) {
  Account account(10);
  {
    Charge charge = *account.take(6);
    Charge moved = std::move(charge);
    EXPECT_EQ(account.used(), 6U);
    moved.shrink(2);
    EXPECT_EQ(account.used(), 4U);
    moved.shrink(100);
    EXPECT_EQ(account.used(), 0U);
    EXPECT_TRUE(moved.grow(10));
    EXPECT_FALSE(moved.grow(1));
  }
  EXPECT_EQ(account.used(), 0U);
}

TEST(Account, AChargeThatReplacesAnotherGivesTheFirstBack) {
  Account account(10);
  Charge charge = *account.take(4);
  charge = *account.take(5);
  EXPECT_EQ(account.used(), 5U);
}

TEST(Account, IsBoundedByTheAccountsAboveIt) {
  Account machine(10);
  Account one(8, &machine);
  Account other(8, &machine);
  Charge charge = *one.take(8);
  EXPECT_EQ(machine.used(), 8U);
  EXPECT_FALSE(other.take(3));
  EXPECT_EQ(other.used(), 0U);
  EXPECT_EQ(other.left(), 2U);
  EXPECT_TRUE(other.take(2));
  charge.reset();
  EXPECT_EQ(machine.used(), 0U);
}

TEST(Account, CountsWhatExistsAlreadyBeyondItsBound) {
  Account machine(10);
  Account account(5, &machine);
  Charge adopted = account.take_anyway(20);
  EXPECT_EQ(account.used(), 20U);
  EXPECT_EQ(machine.left(), 0U);
  EXPECT_FALSE(account.take(1));
  adopted.reset();
  EXPECT_TRUE(account.take(5));
}

TEST(Account, AChargeWithoutAccountHasNoRoom) {
  Charge charge;
  EXPECT_FALSE(charge.grow(1));
  charge.shrink(1);
  EXPECT_EQ(charge.amount(), 0U);
}

TEST(Account, StaysWithinItsBoundHoweverManyAsk) {
  Account machine(100);
  std::vector<std::unique_ptr<Account>> tenants;
  for (int i = 0; i < 4; ++i)
    tenants.push_back(std::make_unique<Account>(60, &machine));
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, tenant = tenants[static_cast<std::size_t>(i)].get()] {
      for (int round = 0; round < 5000; ++round) {
        const auto charge = tenant->take(static_cast<std::uint64_t>(round % 61));
        if (machine.used() > 100) is_over = true;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_FALSE(is_over);
  EXPECT_EQ(machine.used(), 0U);
  for (const auto& tenant : tenants)
    EXPECT_EQ(tenant->used(), 0U);
}

}  // namespace
}  // namespace nutshell
