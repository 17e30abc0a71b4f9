#include "base/deadline.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, NeverPassesAndPollsForever) {
  EXPECT_FALSE(Deadline::never().has_passed());
  EXPECT_EQ(Deadline::never().poll_timeout(), -1);
}

TEST(Deadline, InThePastHasPassedAndDoesNotWait) {
  const Deadline past = Deadline::in(-1s);
  EXPECT_TRUE(past.has_passed());
  EXPECT_EQ(past.poll_timeout(), 0);
}

TEST(Deadline, RoundsUpSoThatWakingMeansPassed) {
  EXPECT_EQ(Deadline::in(100us).poll_timeout(), 1);
  EXPECT_GT(Deadline::in(10s).poll_timeout(), 9000);
}

TEST(Deadline, BeyondTheClockIsNever) {
  EXPECT_TRUE(Deadline::in(Clock::duration::max()).is_never());
}

TEST(Deadline, FarAwayFitsIntoPoll) {
  EXPECT_EQ(Deadline::in(24h * 365).poll_timeout(), 1 << 30U);
}

TEST(Deadline, EarlierOneWinsAndNeverLoses) {
  const Deadline soon = Deadline::in(-1s);
  const Deadline late = Deadline::in(1h);
  EXPECT_TRUE(earlier(soon, late).has_passed());
  EXPECT_TRUE(earlier(late, soon).has_passed());
  EXPECT_FALSE(earlier(Deadline::never(), late).is_never());
  EXPECT_FALSE(earlier(late, Deadline::never()).is_never());
}

}  // namespace
}  // namespace nutshell
