#include "backends/native/start/parts_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <vector>

namespace nutshell::native {
namespace {

class PartsPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto opened = pool_.open_home_network();
    ASSERT_TRUE(opened) << opened.error().message;
  }

  PartsPool pool_;
};

TEST_F(PartsPoolTest, GivesACleanNetworkToTheNextSandbox) {
  EXPECT_TRUE(pool_.has_no_network());
  auto network = pool_.take_network();
  ASSERT_TRUE(network) << network.error().message;
  const int descriptor = network->descriptor();
  pool_.give_back(std::move(*network));
  EXPECT_FALSE(pool_.has_no_network());
  EXPECT_TRUE(pool_.clean_one());
  EXPECT_FALSE(pool_.clean_one());

  const auto next = pool_.take_network();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->descriptor(), descriptor);
  EXPECT_TRUE(pool_.has_no_network());
}

TEST_F(PartsPoolTest, MakesEachPartUntilEnoughAreReady) {
  Abilities abilities;
  abilities.privilege = Privilege::Root;  // and no cgroups
  int made = 0;
  while (made < 100 && pool_.make_one(abilities))
    ++made;
  EXPECT_EQ(made, 8);  // four networks, four user namespaces

  std::set<uid_t> ids;
  for (int i = 0; i < 4; ++i) {
    const auto user = pool_.take_user(Privilege::Root);
    ASSERT_TRUE(user) << user.error().message;
    ids.insert(user->ids().user);
  }
  EXPECT_TRUE(pool_.make_one(abilities));
}

TEST_F(PartsPoolTest, KeepsABoundedNumberOfPartsAndDropsTheSurplus) {
  std::vector<UserNamespace> taken;
  for (int i = 0; i < 40; ++i) {
    auto user = pool_.take_user(Privilege::Root);
    ASSERT_TRUE(user) << user.error().message;
    taken.push_back(std::move(*user));
  }
  for (UserNamespace& user : taken)
    pool_.give_back(std::move(user));
  pool_.keep_surplus(Deadline::never());
  EXPECT_FALSE(pool_.drop_surplus());
  pool_.keep_surplus(Deadline::in(std::chrono::seconds(0)));
  EXPECT_TRUE(pool_.next_change().has_passed());
  int dropped = 0;
  while (pool_.drop_surplus())
    ++dropped;
  EXPECT_EQ(dropped, 28);  // 32 were kept, and four stay
  EXPECT_TRUE(pool_.next_change().is_never());
}

}  // namespace
}  // namespace nutshell::native
