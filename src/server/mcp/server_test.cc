#include "server/mcp/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/deadline.h"
#include "base/file.h"
#include "core/json_text.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

class RememberingChannel : public Channel {
 public:
  void send(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    messages_.push_back(Json::parse(message));
  }
  void respond(std::string_view message, int error_code) override {
    send(message);
    last_code = error_code;
  }
  void abandon() override { was_abandoned = true; }

  std::vector<Json> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  std::atomic<int> last_code = 0;
  std::atomic<bool> was_abandoned = false;

 private:
  std::mutex mutex_;
  std::vector<Json> messages_;
};

// echo gives its arguments back, wait runs until it is cancelled, ask asks the client.
class EchoHost : public Host {
 public:
  [[nodiscard]] Description describe() const override {
    return {"echo", "Echo", "1", "Say something.", abilities};
  }
  std::string list(Listing listing, const Client& /*client*/) override {
    return listing == Listing::Tools ? R"({"tools":[{"name":"echo"}]})" : R"({"resources":[]})";
  }
  Reply call_tool(Call& call, const std::string& name, const Json& arguments) override {
    if (name == "echo") return Answer{R"({"content":)" + dump_json(arguments) + "}"};
    if (name == "wait") {
      is_waiting = true;
      EXPECT_TRUE(wait_for(call.interrupt(), 1, Deadline::in(30s)).value_or(false));
      return Answer{R"({"content":"too late"})"};
    }
    if (name == "ask") {
      const auto answer = call.ask("roots/list", "{}");
      return Answer{R"({"content":)" + json_string(answer ? *answer : answer.error().message) +
                    "}"};
    }
    return Problem{kInvalidParams, "Unknown tool"};
  }
  Reply get_prompt(Call& /*call*/, const std::string& /*name*/,
                   const Json& /*arguments*/) override {
    return Problem{kInvalidParams, "none"};
  }
  Reply read_resource(Call& /*call*/, const std::string& uri) override {
    return Problem{kResourceNotFound, "none", R"({"uri":)" + json_string(uri) + "}"};
  }
  Reply complete(Call& /*call*/, const Json& /*params*/) override { return Answer{"{}"}; }

  Abilities abilities{.resources = true, .lists_change = true};
  std::atomic<bool> is_waiting = false;
};

struct ServerFixture : testing::Test {
  EchoHost host;
  Server server{host};
  std::shared_ptr<Session> session = std::make_shared<Session>(Client{});
  std::shared_ptr<RememberingChannel> channel = std::make_shared<RememberingChannel>();

  Server::CallPointer begin(const Json& message, ProtocolForm form = ProtocolForm::Unknown) {
    MessageBatch batch = read_messages(message.dump());
    return server.begin({session, channel, form}, std::move(batch.messages.front()));
  }
  // The last message that came for it.
  Json ask(const Json& message, ProtocolForm form = ProtocolForm::Unknown) {
    if (const auto call = begin(message, form)) server.run(call);
    const auto all = channel->messages();
    EXPECT_FALSE(all.empty());
    return all.empty() ? Json() : all.back();
  }
  static Json request(const std::string& method, const Json& params = Json::object(), int id = 1) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}};
  }
  static Json stateless(Json params = Json::object()) {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Json::object();
    return params;
  }
  void agree(const std::string& revision = "2025-11-25") {
    ask(request("initialize", {{"protocolVersion", revision}, {"capabilities", Json::object()}}));
  }
};

using McpServer = ServerFixture;

TEST_F(McpServer, AgreesOnARevisionItKnows) {
  for (const std::string& revision : session_revisions()) {
    session = std::make_shared<Session>(Client{});
    const Json answer = ask(request("initialize", {{"protocolVersion", revision}}));
    EXPECT_EQ(answer["result"]["protocolVersion"], revision);
    EXPECT_EQ(answer["result"]["serverInfo"]["name"], "echo");
    EXPECT_EQ(answer["result"]["instructions"], "Say something.");
  }
}

TEST_F(McpServer, OffersItsNewestForOneItDoesNotKnow) {
  const Json answer = ask(request("initialize", {{"protocolVersion", "1999-01-01"}}));
  EXPECT_EQ(answer["result"]["protocolVersion"], "2025-11-25");
}

TEST_F(McpServer, RefusesASecondInitialize) {
  agree();
  EXPECT_EQ(ask(request("initialize", {{"protocolVersion", "2025-11-25"}}))["error"]["code"],
            kInvalidRequest);
}

TEST_F(McpServer, WantsAHandshakeOrMetaBeforeAnythingElse) {
  EXPECT_EQ(ask(request("tools/list"))["error"]["code"], kInvalidParams);
  EXPECT_TRUE(ask(request("ping")).contains("result"));
}

TEST_F(McpServer, AnswersTheStatelessRevisionWithoutAHandshake) {
  const Json answer = ask(request("tools/list", stateless()));
  EXPECT_EQ(answer["result"]["resultType"], "complete");
  EXPECT_EQ(answer["result"]["cacheScope"], "private");
  EXPECT_GE(answer["result"]["ttlMs"], 0);
  EXPECT_EQ(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "echo");
}

TEST_F(McpServer, ServesBothErasOnOneConnection) {
  agree();
  EXPECT_FALSE(ask(request("tools/list"))["result"].contains("resultType"));
  EXPECT_TRUE(ask(request("tools/list", stateless()))["result"].contains("resultType"));
}

TEST_F(McpServer, RefusesARevisionThatIsNotStateless) {
  Json params = stateless();
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2025-11-25";
  const Json error = ask(request("server/discover", params))["error"];
  EXPECT_EQ(error["code"], kUnsupportedVersion);
  EXPECT_EQ(error["data"]["requested"], "2025-11-25");
  EXPECT_EQ(error["data"]["supported"], Json::array({"2026-07-28"}));
}

TEST_F(McpServer, WantsWholeMetaOfTheStatelessRevision) {
  Json params = stateless();
  params["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
  EXPECT_EQ(ask(request("server/discover", params))["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask(request("server/discover"))["error"]["code"], kInvalidParams);
  EXPECT_EQ(ask(request("tools/list"), ProtocolForm::Stateless)["error"]["code"], kInvalidParams);
}

TEST_F(McpServer, HasNoMethodsOfTheOtherEra) {
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe"})
    EXPECT_EQ(ask(request(method, stateless()))["error"]["code"], kMethodNotFound) << method;
  agree();
  for (const char* method : {"server/discover", "subscriptions/listen", "prompts/list", "none"})
    EXPECT_EQ(ask(request(method))["error"]["code"], kMethodNotFound) << method;
}

TEST_F(McpServer, PassesArgumentsAndChecksTheirShape) {
  agree();
  const Json answer = ask(request("tools/call", {{"name", "echo"}, {"arguments", {{"a", 1}}}}));
  EXPECT_EQ(answer["result"]["content"]["a"], 1);
  for (const Json& params : {Json{{"name", 5}}, Json{{"name", "echo"}, {"arguments", "x"}},
                             Json{{"name", "echo"}, {"arguments", Json::array({1})}},
                             Json::object(), Json{{"name", "nothing"}}})
    EXPECT_EQ(ask(request("tools/call", params))["error"]["code"], kInvalidParams) << params;
}

TEST_F(McpServer, KnowsNoCursor) {
  agree();
  EXPECT_EQ(ask(request("tools/list", {{"cursor", "x"}}))["error"]["code"], kInvalidParams);
}

TEST_F(McpServer, TellsOfAMissingResourceByTheErasOwnCode) {
  agree();
  EXPECT_EQ(ask(request("resources/read", {{"uri", "x:y"}}))["error"]["code"], kResourceNotFound);
  const Json error = ask(request("resources/read", stateless({{"uri", "x:y"}})))["error"];
  EXPECT_EQ(error["code"], kInvalidParams);
  EXPECT_EQ(error["data"]["uri"], "x:y");
}

TEST_F(McpServer, SendsNothingForACallThatWasCancelled) {
  agree();
  const auto before = channel->messages().size();
  const auto call = begin(request("tools/call", {{"name", "wait"}}, 9));
  std::thread worker([&] { server.run(call); });
  while (!host.is_waiting)
    std::this_thread::yield();
  for (int times = 0; times < 2; ++times)
    begin({{"jsonrpc", "2.0"},
           {"method", "notifications/cancelled"},
           {"params", {{"requestId", 9}}}});
  worker.join();
  EXPECT_EQ(channel->messages().size(), before);
  EXPECT_TRUE(channel->was_abandoned);
  EXPECT_EQ(session->running(), 0U);
}

TEST_F(McpServer, IgnoresACancellationOfWhatIsNotThere) {
  agree();
  for (const Json& id : {Json(77), Json("x"), Json(nullptr), Json::object()})
    begin({{"jsonrpc", "2.0"},
           {"method", "notifications/cancelled"},
           {"params", {{"requestId", id}}}});
  begin({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}});
  EXPECT_TRUE(ask(request("ping")).contains("result"));
}

TEST_F(McpServer, RefusesAnIdThatIsInUse) {
  agree();
  const auto first = begin(request("tools/call", {{"name", "echo"}}, 5));
  EXPECT_FALSE(begin(request("tools/call", {{"name", "echo"}}, 5)));
  EXPECT_EQ(channel->messages().back()["error"]["code"], kInvalidRequest);
  server.run(first);
  const auto second = begin(request("tools/call", {{"name", "echo"}}, 5));
  ASSERT_TRUE(second);
  server.run(second);
}

TEST_F(McpServer, AsksTheClientAndTakesOneAnswer) {
  agree();
  const auto call = begin(request("tools/call", {{"name", "ask"}}, 3));
  std::thread worker([&] { server.run(call); });
  while (channel->messages().back().value("method", "") != "roots/list")
    std::this_thread::yield();
  const Json id = channel->messages().back()["id"];
  begin({{"jsonrpc", "2.0"}, {"id", "forged"}, {"result", {{"x", 0}}}});
  begin({{"jsonrpc", "2.0"}, {"id", id}, {"result", {{"x", 1}}}});
  begin({{"jsonrpc", "2.0"}, {"id", id}, {"result", {{"x", 2}}}});
  worker.join();
  EXPECT_EQ(channel->messages().back()["result"]["content"], R"({"x":1})");
}

TEST_F(McpServer, AsksNothingInTheStatelessRevision) {
  const Json answer = ask(request("tools/call", stateless({{"name", "ask"}})));
  EXPECT_EQ(answer["result"]["content"], "this revision has no requests to the client");
}

TEST_F(McpServer, TellsListenersWhatTheyAskedFor) {
  const Json filter = {{"toolsListChanged", true}, {"promptsListChanged", true}};
  const auto call =
      begin(request("subscriptions/listen", stateless({{"notifications", filter}}), 4));
  ASSERT_TRUE(call);
  server.run(call);
  const Json first = channel->messages().back();
  EXPECT_EQ(first["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(first["params"]["notifications"], Json({{"toolsListChanged", true}}));
  server.tell_changed(Listing::Prompts);
  EXPECT_EQ(channel->messages().size(), 1U);
  server.tell_changed(Listing::Tools);
  EXPECT_EQ(channel->messages().back()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            4);
  begin(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 4}}}});
  server.tell_changed(Listing::Tools);
  EXPECT_EQ(channel->messages().size(), 2U);
  EXPECT_EQ(session->running(), 0U);
}

TEST_F(McpServer, EndsSubscriptionsWithTheirSession) {
  const auto call = begin(request("subscriptions/listen",
                                  stateless({{"notifications", {{"toolsListChanged", true}}}}), 4));
  server.run(call);
  server.end_subscriptions(*session);
  EXPECT_EQ(channel->messages().back()["result"]["resultType"], "complete");
  EXPECT_EQ(session->running(), 0U);
  server.tell_changed(Listing::Tools);
  EXPECT_TRUE(channel->messages().back().contains("result"));
}

TEST_F(McpServer, ReportsProgressOnlyToThoseWhoAskedAndOnlyUpwards) {
  agree();
  const auto silent = begin(request("tools/call", {{"name", "echo"}}, 6));
  silent->report(1, 2, "x");
  const auto before = channel->messages().size();
  const auto call =
      begin(request("tools/call", {{"name", "echo"}, {"_meta", {{"progressToken", "t"}}}}, 7));
  call->report(1, 10, "one");
  call->report(1, 10, "again");
  call->report(0.5, 10, "back");
  call->report(2, 10, "two");
  ASSERT_EQ(channel->messages().size(), before + 2);
  EXPECT_EQ(channel->messages().back()["params"]["progress"], 2);
  EXPECT_EQ(channel->messages().back()["params"]["progressToken"], "t");
  server.run(call);
  call->report(3, 10, "late");
  EXPECT_TRUE(channel->messages().back().contains("result"));
  server.run(silent);
}

TEST_F(McpServer, LogsAtTheLevelThatWasSet) {
  host.abilities.logging = true;
  Server logging(host);
  const Json params = {{"name", "echo"}};
  agree();
  session->set_log_level(LogLevel::Warning);
  const auto call = begin(request("tools/call", params, 8));
  const auto before = channel->messages().size();
  call->log(LogLevel::Info, "quiet");
  call->log(LogLevel::Error, "loud");
  EXPECT_EQ(channel->messages().size(), before + 1);
  const auto stateless_call = begin(request("tools/call", stateless(params), 10));
  stateless_call->log(LogLevel::Emergency, "not asked for");
  EXPECT_EQ(channel->messages().size(), before + 1);
  server.run(call);
  server.run(stateless_call);
}

}  // namespace
}  // namespace nutshell::mcp
