#include "server/mcp/tasks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "server/mcp/hang_up_watch.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

class SilentChannel : public Channel {
 public:
  void send(std::string_view /*message*/) override {}
  void respond(std::string_view /*message*/, int /*error_code*/) override {}
};

std::shared_ptr<RunningCall> call_of(const std::string& owner) {
  Client client;
  client.owner = owner;
  client.revision = kStatelessRevision;
  const RunningCall::Origin origin{std::make_shared<Session>(client),
                                   std::make_shared<SilentChannel>(), client, std::nullopt};
  MessageBatch batch =
      read_messages(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}})");
  return std::make_shared<RunningCall>(origin, std::move(batch.messages.front()));
}

Json object_of(const Reply& reply) {
  const auto* answer = std::get_if<Answer>(&reply);
  return answer != nullptr ? Json::parse(answer->object) : Json();
}

// Runs until it is cancelled.
Tasks::Work endless(const std::shared_ptr<RunningCall>& call) {
  return [call]() -> Reply {
    EXPECT_TRUE(wait_for(call->interrupt(), 1, Deadline::in(30s)).value_or(false));
    return Answer{R"({"content":[]})"};
  };
}

TEST(Tasks, AnswerDirectlyIfTheCallIsQuick) {
  Tasks tasks;
  const Reply reply = tasks.run(
      call_of("a"), [] { return Answer{R"({"content":[1]})"}; }, 30s);
  EXPECT_EQ(std::get<Answer>(reply).type, Answer::Type::Complete);
  EXPECT_EQ(object_of(reply)["content"][0], 1);
}

TEST(Tasks, KeepTheResultOfASlowCall) {
  Tasks tasks;
  const auto call = call_of("a");
  std::atomic<bool> may_end = false;
  const Reply reply = tasks.run(
      call,
      [&may_end] {
        while (!may_end)
          std::this_thread::sleep_for(1ms);
        return Answer{R"({"content":[7]})"};
      },
      1ms);
  ASSERT_EQ(std::get<Answer>(reply).type, Answer::Type::Task);
  const std::string id = object_of(reply)["taskId"];
  EXPECT_EQ(object_of(tasks.get(call->client(), id))["status"], "working");
  may_end = true;
  const auto deadline = Deadline::in(30s);
  while (object_of(tasks.get(call->client(), id))["status"] == "working" && !deadline.has_passed())
    std::this_thread::sleep_for(1ms);
  const Json ended = object_of(tasks.get(call->client(), id));
  EXPECT_EQ(ended["status"], "completed");
  EXPECT_EQ(ended["result"]["content"][0], 7);
}

TEST(Tasks, GiveTheirResultToARequestThatWaits) {
  Tasks tasks;
  const auto call = call_of("a");
  std::atomic<bool> may_end = false;
  const auto work = [&may_end] {
    while (!may_end)
      std::this_thread::sleep_for(1ms);
    return Answer{R"({"content":[7]})"};
  };
  const std::string id = object_of(tasks.run(call, work, 1ms))["taskId"];
  const auto cancelled = call_of("a");
  cancelled->cancel();
  EXPECT_TRUE(std::holds_alternative<Problem>(tasks.result(*cancelled, id)));
  EXPECT_TRUE(std::holds_alternative<Problem>(tasks.result(*call_of("b"), id)));
  std::thread later([&may_end] { may_end = true; });
  EXPECT_EQ(object_of(tasks.result(*call, id))["content"][0], 7);
  later.join();
}

TEST(Tasks, AreUnknownToOthers) {
  Tasks tasks;
  const auto call = call_of("a");
  const std::string id = object_of(tasks.run(call, endless(call), 1ms))["taskId"];
  Client other;
  other.owner = "b";
  EXPECT_TRUE(std::holds_alternative<Problem>(tasks.get(other, id)));
  EXPECT_TRUE(std::holds_alternative<Problem>(tasks.cancel(other, id)));
  EXPECT_FALSE(call->is_cancelled());
  EXPECT_TRUE(std::holds_alternative<Answer>(tasks.cancel(call->client(), id)));
  EXPECT_TRUE(call->is_cancelled());
  EXPECT_EQ(object_of(tasks.get(call->client(), id))["status"], "cancelled");
}

TEST(Tasks, LeaveRoomForOtherOwners) {
  Tasks tasks;
  for (std::size_t i = 0; i < Tasks::kMostOfOne; ++i) {
    const auto call = call_of("greedy");
    ASSERT_EQ(std::get<Answer>(tasks.run(call, endless(call), 1ms)).type, Answer::Type::Task);
  }
  const auto here = std::this_thread::get_id();
  std::thread::id there;
  const auto work = [&there] {
    there = std::this_thread::get_id();
    return Answer{"{}"};
  };
  (void)tasks.run(call_of("greedy"), work, 30s);
  EXPECT_EQ(there, here) << "one more is waited for";
  (void)tasks.run(call_of("modest"), work, 30s);
  EXPECT_NE(there, here);
}

TEST(Tasks, EndWithTheTable) {
  const auto call = call_of("a");
  {
    Tasks tasks;
    (void)tasks.run(call, endless(call), 1ms);
    EXPECT_FALSE(call->is_cancelled());
  }
  EXPECT_TRUE(call->is_cancelled());
}

// A client that has the task's id may hang up, or send the next request, before the thread that
// answered is done.
TEST(Tasks, GoOnWhenTheirClientHangsUp) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd hang_up(ends[0]);
  ::close(ends[1]);
  const auto task = call_of("a");
  const auto other = call_of("a");
  task->become_task();
  HangUpWatch watch;
  watch.add(hang_up.get(), task, 0ms);
  watch.add(hang_up.get(), other, 0ms);
  EXPECT_TRUE(wait_for(other->interrupt(), 1, Deadline::in(10s)).value_or(false));
  EXPECT_FALSE(task->is_cancelled());
}

}  // namespace
}  // namespace nutshell::mcp
