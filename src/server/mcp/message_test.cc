#include "server/mcp/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell::mcp {
namespace {

Message only(std::string_view text) {
  MessageBatch batch = read_messages(text);
  EXPECT_FALSE(batch.is_batch);
  EXPECT_EQ(batch.messages.size(), 1U);
  return std::move(batch.messages.front());
}

void expect_refused(std::string_view text, int code, std::string_view id = "null") {
  const Message message = only(text);
  EXPECT_EQ(message.kind, Message::Kind::Refused) << text;
  EXPECT_EQ(message.problem.code, code) << text;
  EXPECT_EQ(message.id, id) << text;
}

TEST(Message, IsParsedByItsKind) {
  const Message request = only(R"({"jsonrpc":"2.0","id":7,"method":"ping"})");
  EXPECT_EQ(request.kind, Message::Kind::Request);
  EXPECT_EQ(request.id, "7");
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":"7","method":"ping"})").id, "\"7\"");
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","method":"x"})").kind, Message::Kind::Notification);
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":1,"result":{}})").kind, Message::Kind::Response);
}

TEST(Message, IsRefusedWithTheRightCode) {
  expect_refused("{", kParseError);
  expect_refused(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", kParseError);
  expect_refused("42", kInvalidRequest);
  expect_refused(R"({"id":1,"method":"ping"})", kInvalidRequest, "1");
  expect_refused(R"({"jsonrpc":"1.0","id":1,"method":"ping"})", kInvalidRequest, "1");
  expect_refused(R"({"jsonrpc":"2.0","id":1})", kInvalidRequest, "1");
  expect_refused(R"({"jsonrpc":"2.0","id":1,"method":5})", kInvalidRequest, "1");
  expect_refused(R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})", kInvalidRequest, "1");
  expect_refused(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[1]})", kInvalidParams, "1");
}

TEST(Message, IdsAreNothingButIntegersAndShortTexts) {
  expect_refused(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", kInvalidRequest);
  expect_refused(R"({"jsonrpc":"2.0","id":null,"method":"ping"})", kInvalidRequest);
  expect_refused(R"({"jsonrpc":"2.0","id":{"a":1},"method":"ping"})", kInvalidRequest);
  expect_refused(R"({"jsonrpc":"2.0","id":")" + std::string(257, 'x') + R"(","method":"ping"})",
                 kInvalidRequest);
}

TEST(MessageBatch, ABatchIsBounded) {
  const std::string one = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  std::string batch = "[" + one;
  for (std::size_t i = 1; i < kMostBatched; ++i)
    batch += "," + one;
  EXPECT_EQ(read_messages(batch + "]").messages.size(), kMostBatched);
  expect_refused(batch + "," + one + "]", kInvalidRequest);
  expect_refused("[]", kInvalidRequest);
}

TEST(ErrorMessage, CarriesIdCodeAndData) {
  const auto parsed = Json::parse(error_message("\"a\"", {-1, "no\n\"way\"", "{\"x\":1}"}));
  EXPECT_EQ(parsed["id"], "a");
  EXPECT_EQ(parsed["error"]["message"], "no\n\"way\"");
  EXPECT_EQ(parsed["error"]["data"]["x"], 1);
}

}  // namespace
}  // namespace nutshell::mcp
