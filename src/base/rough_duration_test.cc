#include "base/rough_duration.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

using namespace std::chrono_literals;

TEST(RoughDuration, HasItsTwoLargestUnits) {
  EXPECT_EQ(rough_duration(604119921ms), "6d 23h");
  EXPECT_EQ(rough_duration(24h), "1d");
  EXPECT_EQ(rough_duration(2h + 5min + 9s), "2h 5m");
  EXPECT_EQ(rough_duration(200s), "3m 20s");
  EXPECT_EQ(rough_duration(59'999ms), "59s");
  EXPECT_EQ(rough_duration(999ms), "0s");
  EXPECT_EQ(rough_duration(-5s), "0s");
  EXPECT_EQ(rough_duration(24h + 1s), "1d");
}

}  // namespace
}  // namespace nutshell
