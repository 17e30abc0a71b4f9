#include "service/evidence/denials.h"

#include <gtest/gtest.h>

namespace nutshell::service {
namespace {

TEST(Denials, AreWrittenAFewTimesForEachCaller) {
  Denials denials;
  int written = 0;
  for (int i = 0; i < 3000; ++i)
    written += denials.is_worth_a_record("", "10.0.0.1") ? 1 : 0;
  EXPECT_EQ(written, 5);
  EXPECT_TRUE(denials.is_worth_a_record("", "10.0.0.2"));
  EXPECT_TRUE(denials.take_sums().empty());  // the minute is not over
}

TEST(Denials, AreSummedUpForManyCallers) {
  Denials denials;
  int written = 0;
  for (int i = 0; i < 100'000; ++i)
    written += denials.is_worth_a_record("", std::to_string(i)) ? 1 : 0;
  EXPECT_LT(written, 1100);
}

}  // namespace
}  // namespace nutshell::service
