#include "service/sessions/sessions.h"

#include <atomic>

#include "service_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

class SessionsTest : public ServiceTest {
 protected:
  SessionRequest request(const std::string& name) {
    SessionRequest request;
    request.name = name;
    request.spec = spec_;
    return request;
  }
};

TEST_F(SessionsTest, AreMadeAtFirstUseAndFoundAgain) {
  const auto first = service_->sessions().ensure(alice_, request("s"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->was_created);
  EXPECT_EQ(first->life, 1U);
  exec(alice_, first->sandbox_id, "echo x > f");
  const auto second = service_->sessions().ensure(alice_, request("s"));
  EXPECT_FALSE(second->was_created);
  EXPECT_EQ(second->sandbox_id, first->sandbox_id);
  restart();
  const auto third = service_->sessions().ensure(alice_, request("s"));
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->sandbox_id, first->sandbox_id);
  EXPECT_TRUE(third->lost.empty());
  EXPECT_EQ(exec(alice_, third->sandbox_id, "cat f").output, "x\n");
  EXPECT_FALSE(service_->sessions().find(bob_, "s"));
  ASSERT_TRUE(service_->sessions().end(alice_, "s"));
  EXPECT_EQ(running(), 0U);
}

TEST_F(SessionsTest, AreMadeOnceHoweverManyAsk) {
  std::vector<std::string> ids(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& id : ids) {
      threads.emplace_back([&] {
        auto wanted = request("s");
        wanted.setup = {{"/bin/sh", "-c", "echo once >> /workspace/setup"}};
        const auto view = service_->sessions().ensure(alice_, wanted);
        if (view) id = view->sandbox_id;
      });
    }
  }
  for (const std::string& id : ids)
    EXPECT_EQ(id, ids.front());
  EXPECT_EQ(running(), 1U);
  EXPECT_EQ(exec(alice_, ids.front(), "cat setup").output, "once\n");
}

TEST_F(SessionsTest, SayWhatWasLostAndRunTheirSetupOnceInEachLife) {
  auto wanted = request("s");
  wanted.setup = {{"/bin/sh", "-c", "echo cloned; echo once >> /workspace/setup"}};
  const auto first = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->setup.size(), 1U);
  EXPECT_EQ(first->setup[0].output, "cloned\n");
  ASSERT_TRUE(runtime_->destroy(first->sandbox_id));
  const auto second = service_->sessions().ensure(alice_, wanted);  // nobody has looked meanwhile
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->life, 2U);
  EXPECT_THAT(second->lost, HasSubstr(first->sandbox_id));
  EXPECT_THAT(second->lost, HasSubstr("lost"));
  EXPECT_EQ(exec(alice_, second->sandbox_id, "cat setup").output, "once\n");
  EXPECT_TRUE(service_->sessions().ensure(alice_, wanted)->lost.empty());
}

TEST_F(SessionsTest, FailWithTheOutputOfTheSetupThatFailed) {
  auto wanted = request("s");
  wanted.setup = {{"/bin/sh", "-c", "true"}, {"/bin/sh", "-c", "echo no such host; exit 7"}};
  const auto failed = service_->sessions().ensure(alice_, wanted);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("no such host"));
  EXPECT_THAT(failed.error().message, HasSubstr("exited 7"));
  EXPECT_FALSE(service_->sessions().find(alice_, "s"));
  EXPECT_TRUE(soon([&] { return running() == 0; }));
}

TEST_F(SessionsTest, ForgetNothingOfWhatTheyUsedWhenALaterSetupFails) {
  auto wanted = request("s");
  wanted.setup = {{"/bin/sh", "-c", "test ! -e /workspace/fail"}};
  wanted.budget.execs = 1;
  wanted.keeps_workspace = true;
  const auto first = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(exec(alice_, first->sandbox_id, "touch fail").problem, "");
  ASSERT_TRUE(service_->destroy(alice_, first->sandbox_id));
  for (std::uint32_t life = 2; life < 4; ++life) {
    EXPECT_FALSE(service_->sessions().ensure(alice_, wanted));
    const auto left = service_->sessions().find(alice_, "s");
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_EQ(left->life, life);
    EXPECT_EQ(left->usage.execs, 1U);
  }
  restart();
  EXPECT_EQ(service_->sessions().find(alice_, "s")->usage.execs, 1U);
  EXPECT_TRUE(soon([&] { return running() == 0; }));
  ASSERT_TRUE(service_->sessions().end(alice_, "s"));
}

TEST_F(SessionsTest, EndWhenNobodyRenewsThem) {
  auto wanted = request("s");
  wanted.lease = 2s;
  ASSERT_TRUE(service_->sessions().ensure(alice_, wanted));
  ASSERT_TRUE(service_->sessions().renew(alice_, "s", 4s));
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(service_->sessions().find(alice_, "s"));
  EXPECT_TRUE(soon([&] { return !service_->sessions().find(alice_, "s"); }));
  EXPECT_TRUE(soon([&] { return running() == 0; }));
}

TEST_F(SessionsTest, ArePausedWhenIdleAndGoOnWhenUsed) {
  auto wanted = request("s");
  wanted.pause_after = 200ms;
  const auto view = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_TRUE(soon([&] {
    const auto found = service_->find(alice_, view->sandbox_id);
    return found && found->state == SandboxState::Paused;
  }));
  EXPECT_EQ(exec(alice_, view->sandbox_id, "echo awake").output, "awake\n");
}

TEST_F(SessionsTest, StayWithinTheirBudgetHoweverManyExecsRun) {
  auto wanted = request("s");
  wanted.budget.execs = 10;
  const auto view = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(view) << view.error().message;
  std::atomic<int> ran = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 4; ++n) {
          const auto one = exec(alice_, view->sandbox_id, "echo x >> ran");
          (one.problem.empty() ? ran : refused) += 1;
        }
      });
    }
  }
  EXPECT_EQ(ran, 10);
  EXPECT_EQ(refused, 22);
  restart();
  EXPECT_EQ(service_->sessions().find(alice_, "s")->usage.execs, 10U);
  EXPECT_THAT(exec(alice_, view->sandbox_id, "true").problem, HasSubstr("budget"));
}

TEST_F(SessionsTest, EndACommandThatWouldExceedTheWallTime) {
  auto wanted = request("s");
  wanted.budget.wall_time = 1500ms;
  const auto view = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(exec(alice_, view->sandbox_id, "sleep 20").result.outcome, Outcome::TimedOut);
  EXPECT_THAT(exec(alice_, view->sandbox_id, "true").problem, HasSubstr("wall time"));
}

TEST_F(SessionsTest, KeepTheirFilesWhereAskedTo) {
  auto wanted = request("s");
  wanted.keeps_workspace = true;
  const auto first = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(first) << first.error().message;
  exec(alice_, first->sandbox_id,
       "echo kept > f; mkdir -p d; echo x > d/g; ln -s /etc/passwd link; chmod 000 d");
  ASSERT_TRUE(service_->sessions().end(alice_, "s"));
  restart();
  const auto second = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(exec(alice_, second->sandbox_id, "cat f; readlink link").output, "kept\n/etc/passwd\n");
  Caller other = alice_;
  other.tenant = "carol";
  const auto others = service_->sessions().ensure(other, wanted);
  ASSERT_TRUE(others) << others.error().message;
  EXPECT_EQ(exec(other, others->sandbox_id, "ls -A").output, "");
  ASSERT_TRUE(service_->sessions().forget_workspace(alice_, "s"));
}

TEST_F(SessionsTest, KeepTheirFilesWhenTimeIsUp) {
  for (const std::string name : {"ttl", "lease"}) {
    auto wanted = request(name);
    wanted.keeps_workspace = true;
    wanted.lease = 60s;
    const auto first = service_->sessions().ensure(alice_, wanted);
    ASSERT_TRUE(first) << first.error().message;
    const auto written = exec(alice_, first->sandbox_id,
                              "for i in $(seq 300); do head -c 50000 /dev/urandom > f$i; done; "
                              "cat f* | sha256sum");
    if (name == "ttl") {
      ASSERT_TRUE(service_->extend(alice_, first->sandbox_id, 100ms));
    } else {
      ASSERT_TRUE(service_->sessions().renew(alice_, name, 100ms));
    }
    ASSERT_TRUE(soon([&] { return !service_->find(alice_, first->sandbox_id); }));
    const auto second = service_->sessions().ensure(alice_, wanted);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(exec(alice_, second->sandbox_id, "cat f* | sha256sum").output, written.output)
        << name;
  }
}

TEST_F(SessionsTest, KeepNoMoreThanTheTenantMay) {
  options_.rules.quotas["alice"] = options_.rules.default_quota;
  options_.rules.quotas["alice"][Resource::KeptBytes] = 8U << 20U;
  restart();
  auto wanted = request("s");
  wanted.keeps_workspace = true;
  const auto first = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(first) << first.error().message;
  exec(alice_, first->sandbox_id, "head -c 5000000 /dev/zero > f");
  ASSERT_TRUE(service_->sessions().end(alice_, "s"));
  wanted.name = "t";
  const auto second = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(second) << second.error().message;
  // It says to be larger than the disk, and is not there at all.
  exec(alice_, second->sandbox_id, "truncate -s 400M f");
  const auto refused = service_->sessions().end(alice_, "t");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("forget"));
  EXPECT_EQ(exec(alice_, second->sandbox_id, "stat -c %s f").output, "419430400\n");
  exec(alice_, second->sandbox_id, "truncate -s 5000000 f");
  EXPECT_FALSE(service_->sessions().end(alice_, "t"));  // beside what the first one kept
  ASSERT_TRUE(service_->sessions().forget_workspace(alice_, "s"));
  EXPECT_TRUE(service_->sessions().end(alice_, "t"));
  wanted.name = "s";
  const auto third = service_->sessions().ensure(alice_, wanted);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(exec(alice_, third->sandbox_id, "ls -A").output, "");
}

TEST_F(SessionsTest, TakeNoTricksForAName) {
  const std::vector<std::string> names = {"",   "../x", "a b", "a/b", std::string(64, 'a'),
                                          ".x", "a\nb"};
  for (const std::string& name : names)
    EXPECT_FALSE(service_->sessions().ensure(alice_, request(name))) << name;
  EXPECT_EQ(running(), 0U);
}

}  // namespace
}  // namespace nutshell::service
