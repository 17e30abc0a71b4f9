#include "backends/kubernetes/client/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/client/api_error.h"
#include "backends/kubernetes/client/api_fixture.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using ApiClientTest = ApiTest;

TEST_F(ApiClientTest, SendsTheTokenBelowThePrefix) {
  script({answer(200, R"({"kind": "Pod"})")});
  const auto pod = api().call({.path = core_path("agents", "pods", "a/b")});
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->at("kind"), "Pod");
  EXPECT_EQ(seen().at(0).line, "GET /prefix/api/v1/namespaces/agents/pods/a%2Fb");
  EXPECT_EQ(seen().at(0).authorization, "Bearer token-1");
}

TEST_F(ApiClientTest, ARefusalHasTheServersWords) {
  const std::vector<std::tuple<int, std::string, std::string, ErrorCode>> cases = {
      {403, "Forbidden", "user may not create pods", ErrorCode::PermissionDenied},
      {403, "Forbidden", "exceeded quota: small", ErrorCode::ResourceExhausted},
      {404, "NotFound", "pods x not found", ErrorCode::NotFound},
      {409, "AlreadyExists", "pods x already exists", ErrorCode::AlreadyExists},
      {409, "Conflict", "the object has been modified", ErrorCode::Conflict},
      {410, "Expired", "too old resource version", ErrorCode::Expired},
      {422, "Invalid", "spec.containers: Required value", ErrorCode::InvalidArgument},
  };
  std::vector<Step> steps;
  for (const auto& [status, reason, message, code] : cases)
    steps.push_back(refusal(status, reason, message));
  script(std::move(steps));
  ApiClient client = api();
  for (const auto& [status, reason, message, code] : cases) {
    const auto answered = client.call({.path = "/x"});
    ASSERT_FALSE(answered);
    EXPECT_EQ(answered.error().code, code) << message;
    EXPECT_THAT(answered.error().message, HasSubstr(message));
  }
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(ApiClientTest, RepeatsWithLongerPauses) {
  script({refusal(500, "InternalError"), refusal(503, "ServiceUnavailable"), hang_up(),
          answer(200, "{\"half\":"), refusal(504, "Timeout"), answer(200, "{}")});
  const auto answered = api().call({.path = "/x"});
  ASSERT_TRUE(answered) << answered.error().message;
  ASSERT_EQ(pauses_.size(), 5U);
  Clock::duration most = 50ms;
  for (const Clock::duration pause : pauses_) {
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
    most *= 2;
  }
}

TEST_F(ApiClientTest, WaitsAsLongAsTheServerAsks) {
  script({answer(429, "", {{"Retry-After", "3"}}), answer(200, "{}")});
  EXPECT_TRUE(api().call({.path = "/x"}));
  EXPECT_THAT(pauses_, ElementsAre(3s));
}

TEST_F(ApiClientTest, GivesUpWhenTheDeadlineWouldPass) {
  script({answer(429, "busy", {{"Retry-After", "60"}})});
  const auto answered = api().call({.path = "/x"});
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(answered.error().message, HasSubstr("busy"));
}

TEST_F(ApiClientTest, DoesNotRepeatWhatMayHaveBeenDone) {
  const auto once = ApiClient::Repeat::IfRefused;
  script({refusal(500, "InternalError"), hang_up(), refusal(429, "TooManyRequests"),
          answer(200, "{}")});
  ApiClient client = api();
  EXPECT_FALSE(client.call({.method = "POST", .path = "/x", .repeat = once}));
  EXPECT_FALSE(client.call({.method = "POST", .path = "/x", .repeat = once}));
  EXPECT_TRUE(client.call({.method = "POST", .path = "/x", .repeat = once}));
  EXPECT_EQ(seen().size(), 4U);
}

TEST_F(ApiClientTest, AnExpiredTokenIsRenewedOnce) {
  script({refusal(401, "Unauthorized"), answer(200, "{}"), refusal(401, "Unauthorized"),
          refusal(401, "Unauthorized")});
  ApiClient client = api();
  EXPECT_TRUE(client.call({.path = "/x"}));
  EXPECT_EQ(seen().at(1).authorization, "Bearer token-2");
  const auto refused = client.call({.path = "/x"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unauthenticated);
  EXPECT_EQ(seen().size(), 4U);
}

TEST_F(ApiClientTest, ARepeatedCreationKnowsItsOwnObject) {
  // The first attempt was done, but its answer was lost; so the second finds the name taken.
  script({hang_up(), refusal(409, "AlreadyExists"), [this](http::Exchange& exchange) {
            (void)exchange.respond(200, {}, seen().at(0).body);
          }});
  const auto made = api().create("/pods", Json{{"metadata", {{"name", "x"}}}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(lines(), ElementsAre("POST /prefix/pods", "POST /prefix/pods", "GET /prefix/pods/x"));
}

TEST_F(ApiClientTest, TheObjectOfAnotherIsNotOurs) {
  script({refusal(409, "AlreadyExists"),
          answer(200,
                 R"({"metadata": {"name": "x", "annotations": {"nutshell.sandbox/maker": ""}}})")});
  const auto made = api().create("/pods", Json{{"metadata", {{"name", "x"}}}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::AlreadyExists);
}

TEST_F(ApiClientTest, AnUpdateBeginsAgainAfterAConflict) {
  script({answer(200, R"({"count": 1})"), refusal(409, "Conflict"), answer(200, R"({"count": 5})"),
          answer(200, R"({"count": 6})")});
  const auto updated = api().update("/x", [](Json& object) -> Result<> {
    object["count"] = object["count"].get<int>() + 1;
    return {};
  });
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(seen().at(1).body, R"({"count":2})");
  EXPECT_EQ(seen().at(3).body, R"({"count":6})");
  EXPECT_EQ(pauses_.size(), 1U);
}

TEST(ApiRefusal, IsReadFromAnyBody) {
  const auto status = read_refusal(
      503, R"({"kind": "Status", "message": "a\u001b[31m", "details": {"retryAfterSeconds": 2}})",
      "");
  EXPECT_EQ(status.retry_after, 2s);
  EXPECT_THAT(status.message, testing::Not(HasSubstr("\x1b")));
  EXPECT_EQ(read_refusal(502, "<html>", "5").retry_after, 5s);
  EXPECT_EQ(read_refusal(502, "<html>", "tomorrow").retry_after, std::nullopt);
  EXPECT_EQ(read_refusal(404, "", "").message, "Not Found");
  EXPECT_LE(read_refusal(500, std::string(100'000, 'x'), "").message.size(), 1000U);
}

}  // namespace
}  // namespace nutshell::kubernetes
