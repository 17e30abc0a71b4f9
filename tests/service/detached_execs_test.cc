#include "service_fixture.h"

namespace nutshell::service {
namespace {

class DetachedTest : public ServiceTest {
 protected:
  ExecState start(const std::string& script) {
    auto state = service_->start_exec(alice_, id_, shell(script), {});
    EXPECT_TRUE(state) << state.error().message;
    return state.value_or(ExecState{});
  }
  ExecState follow(const std::string& exec_id, ExecOffsets from, Clock::duration time,
                   wire::CapturedOutput& io) {
    auto state = service_->follow_exec(alice_, id_, exec_id, from, Deadline::in(time), io);
    EXPECT_TRUE(state) << state.error().message;
    return state.value_or(ExecState{});
  }
  void SetUp() override {
    ServiceTest::SetUp();
    if (service_) id_ = create(alice_);
  }
  std::string id_;
};

TEST_F(DetachedTest, IsReadFromAnyOffset) {
  const ExecState begun = start("printf 0123456789; printf err >&2; exit 4");
  wire::CapturedOutput all;
  const ExecState ended = follow(begun.exec_id, {}, 10s, all);
  ASSERT_TRUE(ended.ending);
  EXPECT_EQ(ended.ending->exit_code, 4);
  EXPECT_GT(ended.audit_id, 0U);
  EXPECT_EQ(all.output, "0123456789");
  EXPECT_EQ(all.error, "err");
  wire::CapturedOutput rest;
  follow(begun.exec_id, {6, 3}, 10s, rest);
  EXPECT_EQ(rest.output, "6789");
  EXPECT_EQ(rest.error, "");
}

TEST_F(DetachedTest, GoesOnOverARestartWithoutLosingAByte) {
  const ExecState begun =
      start("i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); sleep 0.05; done");
  wire::CapturedOutput first;
  follow(begun.exec_id, {}, 500ms, first);
  EXPECT_FALSE(first.output.empty());
  restart();
  restart();
  wire::CapturedOutput rest;
  const ExecState ended = follow(begun.exec_id, {first.output.size(), 0}, 20s, rest);
  ASSERT_TRUE(ended.ending);
  EXPECT_EQ(ended.ending->outcome, Outcome::Exited) << ended.ending->detail;
  std::string expected;
  for (int i = 0; i < 60; ++i)
    expected += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(first.output + rest.output, expected);
  restart();
  EXPECT_EQ(service_->find_exec(alice_, id_, begun.exec_id)->ending->exit_code, 0);
  EXPECT_EQ(service_->find_exec(alice_, id_, begun.exec_id)->audit_id, ended.audit_id);
}

TEST_F(DetachedTest, EndsWhenToldTo) {
  const ExecState begun = start("sleep 60");
  ASSERT_TRUE(service_->signal_exec(alice_, id_, begun.exec_id, wire::CancelExec{}));
  wire::CapturedOutput io;
  const ExecState ended = follow(begun.exec_id, {}, 10s, io);
  ASSERT_TRUE(ended.ending);
  EXPECT_EQ(ended.ending->outcome, Outcome::Cancelled);
}

TEST_F(DetachedTest, IsLostWithItsSandbox) {
  const ExecState begun = start("sleep 60");
  std::this_thread::sleep_for(100ms);
  ASSERT_TRUE(service_->destroy(alice_, id_));
  wire::CapturedOutput io;
  const ExecState ended = follow(begun.exec_id, {}, 10s, io);
  ASSERT_TRUE(ended.ending);
  EXPECT_EQ(ended.ending->outcome, Outcome::Lost);
}

TEST_F(DetachedTest, IsItsTenantsAlone) {
  const ExecState begun = start("echo secret");
  EXPECT_FALSE(service_->find_exec(bob_, id_, begun.exec_id));
  EXPECT_FALSE(service_->find_exec(alice_, "nffffffffffff", begun.exec_id));
  EXPECT_FALSE(service_->find_exec(alice_, id_, "../../state"));
}

TEST_F(DetachedTest, IsStartedOnceForEachKey) {
  const auto first = service_->start_exec(alice_, id_, shell("echo x >> f"), {{}, "k"});
  const auto second = service_->start_exec(alice_, id_, shell("echo x >> f"), {{}, "k"});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->exec_id, second->exec_id);
  EXPECT_FALSE(service_->start_exec(alice_, id_, shell("echo y >> f"), {{}, "k"}));
  wire::CapturedOutput io;
  follow(first->exec_id, {}, 10s, io);
  EXPECT_EQ(exec(alice_, id_, "cat f").output, "x\n");
}

TEST_F(DetachedTest, RunsOnceForAKeyAlsoWhenTheCallerWaits) {
  const auto run = [&](const std::string& script, std::string& output) {
    wire::CapturedOutput io;
    auto reply = service_->exec(alice_, id_, shell(script), {{}, "k"}, io);
    output = io.output;
    return reply;
  };
  std::string first_output;
  std::string second_output;
  const std::string script = "echo x >> f; wc -l < f; exit 3";
  const auto first = run(script, first_output);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = run(script, second_output);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(first->result.exit_code, 3);
  EXPECT_EQ(second->result.exit_code, 3);
  EXPECT_EQ(first->audit_id, second->audit_id);
  EXPECT_EQ(first_output, second_output);
  EXPECT_EQ(exec(alice_, id_, "cat f").output, "x\n");
  restart();
  EXPECT_EQ(run(script, second_output)->audit_id, first->audit_id);
  EXPECT_EQ(exec(alice_, id_, "cat f").output, "x\n");
  EXPECT_EQ(run("echo y >> f", second_output).error().code, ErrorCode::AlreadyExists);
}

TEST_F(DetachedTest, JoinsTheExecOfAKeyThatStillRuns) {
  const auto first =
      service_->start_exec(alice_, id_, shell("sleep 0.3; echo x >> f; echo done"), {{}, "k"});
  ASSERT_TRUE(first);
  wire::CapturedOutput io;
  const auto joined =
      service_->exec(alice_, id_, shell("sleep 0.3; echo x >> f; echo done"), {{}, "k"}, io);
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(io.output, "done\n");
  EXPECT_EQ(exec(alice_, id_, "cat f").output, "x\n");
}

TEST_F(DetachedTest, WithAKeyGoesOnWhenItsCallerHangsUp) {
  struct HangsUp : wire::CapturedOutput {
    std::optional<wire::ExecEvent> next_event() override { return wire::CancelExec{}; }
  } io;
  const std::string script = "echo begun; sleep 0.3; echo x >> f; echo done";
  EXPECT_FALSE(service_->exec(alice_, id_, shell(script), {{}, "k"}, io));
  wire::CapturedOutput again;
  const auto reply = service_->exec(alice_, id_, shell(script), {{}, "k"}, again);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(again.output, "begun\ndone\n");
  EXPECT_EQ(exec(alice_, id_, "cat f").output, "x\n");
}

TEST_F(DetachedTest, TellsKeysApartByTheWholeRequest) {
  ExecRequest one = shell("echo $A");
  one.environment = {"A=1"};
  ExecRequest other = one;
  other.environment = {"A=2"};
  EXPECT_TRUE(service_->start_exec(alice_, id_, one, {{}, "k"}));
  EXPECT_FALSE(service_->start_exec(alice_, id_, other, {{}, "k"}));
}

TEST_F(DetachedTest, HoldsNoDescriptorOnceItHasEnded) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto run_one = [&] {
    wire::CapturedOutput io;
    ASSERT_TRUE(follow(start("echo x").exec_id, {}, 10s, io).ending);
  };
  run_one();
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i)
    run_one();
  EXPECT_LT(descriptors(), before + 10);
}

}  // namespace
}  // namespace nutshell::service
