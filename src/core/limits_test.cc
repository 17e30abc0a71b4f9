#include "core/limits.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

using namespace std::chrono_literals;

template <typename Change>
bool is_accepted(Change change) {
  Limits limits;
  change(limits);
  return check_limits(limits).has_value();
}

TEST(Limits, DefaultsAreAccepted) {
  EXPECT_TRUE(check_limits(Limits{}));
  EXPECT_TRUE(check_limits(ExecLimits{}));
}

TEST(Limits, ZeroIsNeverUnlimited) {
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.memory_bytes = 0; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.millicpus = 0; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.processes = 0; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.disk_bytes = 0; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.open_files = 0; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.cpu_time = 0s; }));
  EXPECT_FALSE(check_limits(ExecLimits{.timeout = 0ms}));
  EXPECT_FALSE(check_limits(ExecLimits{.output_bytes = 0}));
}

TEST(Limits, BoundsAreInside) {
  EXPECT_TRUE(is_accepted([](Limits& limits) { limits.memory_bytes = 16ULL << 20U; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.memory_bytes = (16ULL << 20U) - 1; }));
  EXPECT_TRUE(is_accepted([](Limits& limits) { limits.processes = 1; }));
  EXPECT_TRUE(is_accepted([](Limits& limits) { limits.open_files = 16; }));
  EXPECT_TRUE(check_limits(ExecLimits{.timeout = 1ms}));
  EXPECT_TRUE(check_limits(ExecLimits{.output_bytes = 1}));
}

TEST(Limits, AbsurdlyLargeIsRefused) {
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.memory_bytes = ~0ULL; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.disk_bytes = ~0ULL; }));
  EXPECT_FALSE(is_accepted([](Limits& limits) { limits.processes = ~0U; }));
  EXPECT_FALSE(
      is_accepted([](Limits& limits) { limits.cpu_time = std::chrono::milliseconds::max(); }));
  EXPECT_FALSE(check_limits(ExecLimits{.timeout = std::chrono::milliseconds::max()}));
  EXPECT_FALSE(check_limits(ExecLimits{.timeout = -1ms}));
}

TEST(Limits, MessageSaysWhatWouldBePossible) {
  Limits limits;
  limits.memory_bytes = 1 << 20U;
  const auto refused = check_limits(limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(refused.error().message.find("give 16m to 1p, for example 512m"), std::string::npos);
}

}  // namespace
}  // namespace nutshell
