// A server over a host of a few tools, and a client's end that remembers what came.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/file.h"
#include "server/mcp/server.h"

namespace nutshell::mcp {

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
  Reply call_tool(Call& call, const std::string& name, const std::string& arguments) override {
    if (name == "echo") return Answer{R"({"content":)" + arguments + "}"};
    if (name == "wait") {
      is_waiting = true;
      EXPECT_TRUE(
          wait_for(call.interrupt(), 1, Deadline::in(std::chrono::seconds(30))).value_or(false));
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
                   const std::string& /*arguments*/) override {
    return Problem{kInvalidParams, "none"};
  }
  Reply read_resource(Call& /*call*/, const std::string& uri) override {
    return Problem{kResourceNotFound, "none", R"({"uri":)" + json_string(uri) + "}"};
  }
  Reply complete(Call& /*call*/, const std::string& /*params*/) override { return Answer{"{}"}; }

  Abilities abilities{.resources = true, .lists_change = true};
  std::atomic<bool> is_waiting = false;
};

struct ServerFixture : testing::Test {
  EchoHost host;
  Server server{host};
  std::shared_ptr<Session> session = std::make_shared<Session>("", "");
  std::shared_ptr<RememberingChannel> channel = std::make_shared<RememberingChannel>();

  Server::CallPointer begin(const Json& message, Era era = Era::Unknown) {
    Parcel parcel = read_parcel(message.dump());
    return server.begin({session, channel, era}, std::move(parcel.messages.front()));
  }
  // The last message that came for it.
  Json ask(const Json& message, Era era = Era::Unknown) {
    if (const auto call = begin(message, era)) server.run(call);
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

}  // namespace nutshell::mcp
