#include "containers/ttl_clock.h"

#include <gtest/gtest.h>

#include <vector>

namespace nutshell::containers {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class FakeSandbox : public PausableSandbox {
 public:
  Result<> keep(const TtlClock& clock) override {
    kept = clock;
    smallest = std::min(smallest, clock.expires_at);
    return {};
  }
  Result<> tell_init(milliseconds left) override {
    if (!hears) return failure(ErrorCode::Unavailable, "init is silent");
    told.push_back(left);
    return {};
  }
  Result<KnownBy> freeze() override {
    if (!freezes) return failure(ErrorCode::Unsupported, "no freezer");
    return known_by;
  }
  Result<> thaw() override { return {}; }

  TtlClock kept;
  milliseconds smallest = milliseconds::max();
  std::vector<milliseconds> told;
  KnownBy known_by = KnownBy::RecordAlone;
  bool hears = true;
  bool freezes = true;
};

bool is_about(milliseconds time, milliseconds wanted) {
  return time <= wanted && time > wanted - 5s;
}

TEST(TtlClock, RunsOrStandsStill) {
  const auto now = milliseconds_now();
  EXPECT_EQ(TtlClock{now + 5s}.left_at(now + 2s), 3s);
  EXPECT_EQ(TtlClock{now + 5s}.left_at(now + 9s), 0s);
  EXPECT_EQ((TtlClock{now + 24h, 7s}.left_at(now + 9s)), 7s);
}

TEST(TtlClock, PauseAndResumeKeepTheTimeThatIsLeft) {
  FakeSandbox sandbox;
  ASSERT_TRUE(pause(sandbox, {milliseconds_now() + 60s}));
  EXPECT_TRUE(sandbox.kept.is_paused);
  EXPECT_TRUE(is_about(sandbox.kept.left.value_or(0ms), 60s));
  EXPECT_EQ(sandbox.told, std::vector<milliseconds>{24h});
  ASSERT_TRUE(resume(sandbox, sandbox.kept));
  EXPECT_FALSE(sandbox.kept.is_paused || sandbox.kept.left);
  EXPECT_TRUE(is_about(sandbox.told.back(), 60s));
}

TEST(TtlClock, PauseThatTheEngineKnowsIsNotRecorded) {
  FakeSandbox sandbox;
  sandbox.known_by = PausableSandbox::KnownBy::Engine;
  ASSERT_TRUE(pause(sandbox, {milliseconds_now() + 60s}));
  EXPECT_TRUE(!sandbox.kept.is_paused && sandbox.kept.left);
}

TEST(TtlClock, SandboxThatCannotBePausedKeepsItsTtl) {
  FakeSandbox sandbox;
  sandbox.freezes = false;
  EXPECT_EQ(pause(sandbox, {milliseconds_now() + 60s}).error().code, ErrorCode::Unsupported);
  EXPECT_TRUE(is_about(sandbox.told.back(), 60s));
  EXPECT_FALSE(sandbox.kept.left);
  sandbox.hears = false;
  const TtlClock before{milliseconds_now() + 60s};
  EXPECT_EQ(pause(sandbox, before).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(sandbox.kept.expires_at, before.expires_at);
  EXPECT_FALSE(sandbox.kept.left);
}

TEST(TtlClock, NewTimeOfAPausedSandboxCountsFromItsResume) {
  FakeSandbox sandbox;
  ASSERT_TRUE(set_time_left(sandbox, {milliseconds_now() + 24h, 7s, true}, 30s));
  EXPECT_TRUE(sandbox.told.empty());
  EXPECT_TRUE(sandbox.kept.is_paused);
  EXPECT_EQ(sandbox.kept.left, milliseconds(30s));
}

TEST(TtlClock, RecordIsNeverEarlierThanWhatInitWasTold) {
  FakeSandbox sandbox;
  sandbox.hears = false;
  const TtlClock before{milliseconds_now() + 60s};
  EXPECT_FALSE(set_time_left(sandbox, before, 1s));
  EXPECT_EQ(sandbox.smallest, before.expires_at);
  sandbox.hears = true;
  ASSERT_TRUE(set_time_left(sandbox, before, 1s));
  EXPECT_LT(sandbox.kept.expires_at, before.expires_at);
}

}  // namespace
}  // namespace nutshell::containers
