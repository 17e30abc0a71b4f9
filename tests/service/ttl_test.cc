// A sandbox ends when its ttl is over, also when the service that made it is gone.
#include "service/pools/pools.h"
#include "service_fixture.h"

namespace nutshell::service {
namespace {

class TtlTest : public ServiceTest {
 protected:
  void SetUp() override {
    options_.life_grace = 300ms;
    ServiceTest::SetUp();
  }
  std::string create_for(std::chrono::milliseconds ttl) {
    spec_.ttl = ttl;
    return create(alice_);
  }
};

TEST_F(TtlTest, EndsItWithoutTheService) {
  create_for(1s);
  service_.reset();
  EXPECT_EQ(running(), 1U);
  EXPECT_TRUE(soon([&] { return running() == 0; }));
}

TEST_F(TtlTest, IsNamedByTheCommandThatItEnds) {
  const std::string id = create_for(1s);
  wire::CapturedOutput io;
  const auto reply = service_->exec(alice_, id, shell("echo begun; sleep 1000"), {}, io);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->result.outcome, Outcome::Lost);
  EXPECT_EQ(reply->result.detail, "the sandbox reached the end of its ttl");
  EXPECT_EQ(io.output, "begun\n");
}

TEST_F(TtlTest, IsMovedByAnExtension) {
  const std::string id = create_for(1s);
  const auto made = Clock::now();
  ASSERT_TRUE(service_->extend(alice_, id, 4s));
  service_.reset();
  std::this_thread::sleep_until(made + 2500ms);
  EXPECT_EQ(running(), 1U);
  EXPECT_TRUE(soon([&] { return running() == 0; }));
}

TEST_F(TtlTest, StandsStillWhileItIsPaused) {
  const std::string id = create_for(1500ms);
  const auto made = Clock::now();
  ASSERT_TRUE(service_->pause(alice_, id));
  service_.reset();
  std::this_thread::sleep_until(made + 2500ms);
  ASSERT_EQ(running(), 1U);
  EXPECT_GT(runtime_->list()->front().time_left, 500ms);
  ASSERT_TRUE(runtime_->resume(id));
  EXPECT_EQ(running(), 1U);
  EXPECT_TRUE(soon([&] { return running() == 0; }));
}

TEST_F(TtlTest, HoldsForOneOfAPool) {
  PoolSpec pool;
  pool.name = "p";
  pool.spec = spec_;
  pool.min_idle = 1;
  pool.max_total = 5;
  ASSERT_TRUE(service_->pools().define(pool));
  ASSERT_TRUE(service_->pools().warm(alice_, "p", Deadline::in(20s)));
  AcquireRequest request;
  request.pool = "p";
  request.ttl = 2s;
  const auto got = service_->pools().acquire(alice_, request);
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_TRUE(soon([&] {
    const auto found = runtime_->find(got->id);
    return found && found->time_left < 5s;
  }));
  service_.reset();
  EXPECT_TRUE(soon([&] { return !runtime_->find(got->id); }));
  EXPECT_EQ(running(), 1U);  // the one that waits for the next service
}

TEST_F(TtlTest, SurvivesARestart) {
  const std::string id = create_for(2s);
  restart();
  EXPECT_LE(service_->find(alice_, id)->time_left, 2s);
  EXPECT_TRUE(soon([&] { return !service_->find(alice_, id); }));
  EXPECT_TRUE(soon([&] { return running() == 0; }));
}

}  // namespace
}  // namespace nutshell::service
