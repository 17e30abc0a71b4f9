#include "service/evidence/gone_list.h"

#include <gtest/gtest.h>

#include <string>

namespace nutshell::service {
namespace {

TEST(GoneListTest, TellsEachTenantItsOwn) {
  GoneList gone;
  gone.add("a", "n1", {Gone::Reason::OutOfMemory, "too large"});
  const auto found = gone.find("a", "n1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "too large");
  EXPECT_FALSE(gone.find("b", "n1"));
  EXPECT_FALSE(gone.find("a", "n2"));
}

TEST(GoneListTest, ATenantPushesOutNothingButItsOwn) {
  GoneList gone;
  gone.add("a", "n1", {Gone::Reason::OutOfMemory, "too large"});
  gone.add("b", "first", {});
  for (int i = 0; i < 1000; ++i)
    gone.add("b", "m" + std::to_string(i), {});
  EXPECT_TRUE(gone.find("a", "n1"));
  EXPECT_TRUE(gone.find("b", "m999"));
  EXPECT_FALSE(gone.find("b", "first"));
}

}  // namespace
}  // namespace nutshell::service
