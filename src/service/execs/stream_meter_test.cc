#include "service/execs/stream_meter.h"

#include <gmock/gmock.h>

#include "audit/chains.h"
#include "audit/reader.h"
#include "base/scratch_fixture.h"
#include "service/state/sqlite_database.h"
#include "wire/schema.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kFirst = 1;

class StreamMeterTest : public testing::Test {
 protected:
  StreamMeterTest() {
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0700));
    audit::AuditOptions options;
    options.directory = scratch_ / "audit";
    chains_ = *audit::Chains::open(options, "local", [](std::string_view) {});
    database_ = *SqliteDatabase::open(scratch_ / "state.db");
    budgets_.emplace(*database_);
    operations_.emplace(*chains_, metrics_, std::vector<std::string>{});
    Budget budget;
    budget.execs = 1;
    budgets_->define("t", "narrow", budget, {});
  }
  std::unique_ptr<StreamMeter> meter(const std::string& session = {}) {
    SandboxRef ref;
    ref.id = "n0123456789ab";
    ref.tenant = "t";
    ref.session = session;
    return std::make_unique<StreamMeter>(StreamMeter::Dependencies{*budgets_, *operations_},
                                         Caller{"t", "tester"}, ref);
  }
  static std::string exec_frame(std::uint32_t conversation,
                                OnDisconnect on_disconnect = OnDisconnect::Cancel) {
    wire::Exec exec;
    exec.exec_id = "x";
    exec.request.argv = {"echo", "hi"};
    exec.request.limits = {std::chrono::seconds(1), 1000, std::chrono::seconds(1)};
    exec.request.on_disconnect = on_disconnect;
    std::string bytes;
    wire::append_frame(bytes, conversation, exec);
    return bytes;
  }
  static std::string hello() {
    std::string bytes;
    wire::append_frame(bytes, 0, wire::Hello{});
    return bytes;
  }
  template <typename Message>
  static std::string frame(std::uint32_t conversation, Message message) {
    std::string bytes;
    wire::append_frame(bytes, conversation, std::move(message));
    return bytes;
  }
  std::vector<std::string> outcomes() {
    std::vector<std::string> all;
    audit::Filter filter;
    filter.most = 100;
    const auto read =
        audit::for_each_record(audit::chain_of(scratch_ / "audit", "t"), filter,
                               [&all](const audit::Record& record) -> Result<audit::Visit> {
                                 all.push_back(record.entry.action + ": " + record.entry.outcome);
                                 return audit::Visit::GoOn;
                               });
    EXPECT_TRUE(read) << read.error().message;
    return all;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<audit::Chains> chains_;
  std::unique_ptr<Database> database_;
  std::optional<Budgets> budgets_;
  Metrics metrics_;
  std::optional<Operations> operations_;
};

TEST_F(StreamMeterTest, PassesFramesOnWholeHoweverTheyAreCut) {
  const auto one = meter();
  const std::string sent = hello() + exec_frame(kFirst) + frame(2, wire::Ping{});
  std::string passed;
  for (const char byte : sent)
    passed += one->from_client(std::string_view(&byte, 1))->to_init;
  EXPECT_EQ(passed, sent);
  EXPECT_FALSE(one->is_idle());
}

TEST_F(StreamMeterTest, WritesAnExecDownFromItsBeginningToItsEnd) {
  const auto one = meter();
  ASSERT_TRUE(one->from_client(hello() + exec_frame(kFirst)));
  const std::string output = frame(kFirst, wire::Output{wire::Stream::Output, 0, "hi\n"});
  wire::Ended ended;
  ended.result.outcome = Outcome::Exited;
  ended.result.exit_code = 7;
  const std::string replies = hello() + output + frame(kFirst, ended);
  EXPECT_EQ(one->from_init(replies)->to_client, replies);
  EXPECT_TRUE(one->is_idle());
  EXPECT_THAT(outcomes(), testing::ElementsAre("exec: begun", "exec: exited 7"));
}

TEST_F(StreamMeterTest, RefusesBeyondTheBudgetAndAfterTheGreeting) {
  const auto one = meter("narrow");
  ASSERT_TRUE(one->from_client(hello() + exec_frame(kFirst)));
  const auto second = one->from_client(exec_frame(2));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->to_init, "");
  EXPECT_EQ(second->to_client, "");  // it would come before init has greeted
  const auto greeted = one->from_init(hello());
  ASSERT_TRUE(greeted) << greeted.error().message;
  EXPECT_TRUE(greeted->to_client.starts_with(hello()));
  EXPECT_THAT(greeted->to_client, HasSubstr("budget"));
  const auto third = one->from_client(exec_frame(3));
  EXPECT_EQ(third->to_init, "");
  EXPECT_THAT(third->to_client, HasSubstr("budget"));
}

TEST_F(StreamMeterTest, LetsNothingOfABudgetOutliveItsClient) {
  const auto one = meter("narrow");
  const auto passed = one->from_client(hello() + exec_frame(kFirst, OnDisconnect::Keep));
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(passed->to_init, hello());
  EXPECT_EQ(budgets_->usage("t", "narrow").execs, 0U);
}

TEST_F(StreamMeterTest, EndsWhatLostItsClient) {
  {
    const auto one = meter("narrow");
    ASSERT_TRUE(one->from_client(hello() + exec_frame(kFirst)));
  }
  EXPECT_THAT(outcomes(), testing::ElementsAre("exec: begun", "exec: cancelled"));
  EXPECT_EQ(budgets_->usage("t", "narrow").execs, 1U);
}

TEST_F(StreamMeterTest, LeavesTheTtlToTheService) {
  const auto one = meter();
  ASSERT_TRUE(one->from_init(hello()));
  const auto passed = one->from_client(hello() + frame(kFirst, wire::SetTimeLeft{1U << 30U}));
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(passed->to_init, hello());
  EXPECT_THAT(passed->to_client, HasSubstr("the service's"));
}

TEST_F(StreamMeterTest, RefusesWhatIsNoFrame) {
  EXPECT_FALSE(meter()->from_client(std::string(64, '\xff')));
  EXPECT_FALSE(meter()->from_init(std::string(64, '\xff')));
  EXPECT_FALSE(meter()->from_client(hello() + frame(1, wire::Ping{}).replace(8, 1, "\x0a")));
  const auto twice = meter();
  EXPECT_FALSE(twice->from_client(exec_frame(kFirst) + exec_frame(kFirst)));
}

}  // namespace
}  // namespace nutshell::service
