#include "base/edit_distance.h"

#include <gtest/gtest.h>

#include <string>

namespace nutshell {
namespace {

TEST(EditDistance, CountsEachMistakeOnce) {
  EXPECT_EQ(edit_distance("memory", "memory", 9), 0U);
  EXPECT_EQ(edit_distance("memory", "memry", 9), 1U) << "one letter deleted";
  EXPECT_EQ(edit_distance("memory", "memoryy", 9), 1U) << "one letter inserted";
  EXPECT_EQ(edit_distance("memory", "memary", 9), 1U) << "one letter replaced";
  EXPECT_EQ(edit_distance("memory", "memroy", 9), 1U) << "two letters swapped";
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3U);
  EXPECT_EQ(edit_distance("", "abc", 9), 3U);
}

TEST(EditDistance, IsTheSameInBothDirections) {
  EXPECT_EQ(edit_distance("ca", "abc", 9), edit_distance("abc", "ca", 9));
}

TEST(EditDistance, GivesUpBeyondItsBound) {
  EXPECT_GT(edit_distance("a", "abcdefgh", 3), 3U);
  const std::string long_name(256, 'x');
  EXPECT_GT(edit_distance(long_name, long_name, 3), 3U);
}

}  // namespace
}  // namespace nutshell
