#include "backends/kubernetes/client/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/client/api_fixture.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::ElementsAre;

// Notes what it is told, until it has seen an object of the name "last".
class Notes : public WatchVisitor {
 public:
  void reset(const Json& objects) override {
    std::string names = "reset";
    for (const Json& object : objects)
      names += " " + note(object);
    said.push_back(names);
  }
  void changed(const Json& object) override { said.push_back("changed " + note(object)); }
  void removed(const Json& object) override { said.push_back("removed " + note(object)); }
  [[nodiscard]] bool is_done() const override { return is_done_; }

  std::vector<std::string> said;

 private:
  std::string note(const Json& object) {
    const std::string name = object.at("metadata").at("name");
    is_done_ = is_done_ || name == "last";
    return name;
  }
  bool is_done_ = false;
};

class WatchTest : public ApiTest {
 protected:
  static std::string object(const std::string& name, int version) {
    return R"({"metadata": {"name": ")" + name + R"(", "resourceVersion": ")" +
           std::to_string(version) + "\"}}";
  }
  static std::string event(const std::string& type, const std::string& name, int version) {
    return R"({"type": ")" + type + R"(", "object": )" + object(name, version) + "}\n";
  }
  static Step list(const std::string& items, int version, const std::string& more = "") {
    return answer(200, R"({"metadata": {"resourceVersion": ")" + std::to_string(version) +
                           R"(", "continue": ")" + more + R"("}, "items": [)" + items + "]}");
  }
  static Step stream(const std::string& lines) {
    return [lines](http::Exchange& exchange) {
      (void)exchange.begin_stream(200, {});
      (void)exchange.write(lines.substr(0, lines.size() / 2));  // a line may come in pieces
      (void)exchange.write(lines.substr(lines.size() / 2));
      (void)exchange.finish();
    };
  }

  void follow_to_the_end() {
    ApiClient client = api();
    Watch watch(client, "/pods?labelSelector=a%3Db");
    const auto followed = watch.follow(notes_, Deadline::in(30s));
    ASSERT_TRUE(followed) << followed.error().message;
    EXPECT_TRUE(*followed);
  }
  // The resource versions after which the changes were asked for.
  std::vector<std::string> versions() {
    std::vector<std::string> all;
    for (const std::string& line : lines()) {
      const std::size_t at = line.find("resourceVersion=");
      all.push_back(at == std::string::npos ? "list" : line.substr(at + 16));
    }
    return all;
  }

  Notes notes_;
};

TEST_F(WatchTest, ListsAndThenFollows) {
  script({list(object("a", 3), 7, "next"), list(object("b", 4), 7),
          stream(event("ADDED", "c", 8) + event("MODIFIED", "a", 9) + event("DELETED", "b", 10) +
                 event("ADDED", "last", 11))});
  follow_to_the_end();
  EXPECT_THAT(notes_.said,
              ElementsAre("reset a b", "changed c", "changed a", "removed b", "changed last"));
  EXPECT_EQ(lines().at(1), "GET /prefix/pods?labelSelector=a=b&limit=500&continue=next");
  EXPECT_THAT(versions(), ElementsAre("list", "list", "7"));
}

TEST_F(WatchTest, ResumesAfterTheLastChangeItSaw) {
  script({list("", 7), stream(event("ADDED", "a", 8) + R"({"type": "ADDED", "obj)"), hang_up(),
          refusal(500, "InternalError"), stream(event("BOOKMARK", "", 20)),
          stream(event("ADDED", "last", 21))});
  follow_to_the_end();
  EXPECT_THAT(notes_.said, ElementsAre("reset", "changed a", "changed last"));
  EXPECT_THAT(versions(), ElementsAre("list", "7", "8", "8", "8", "20"));
  EXPECT_EQ(pauses_.size(), 4U);
}

TEST_F(WatchTest, ListsAgainWhenChangesAreGone) {
  script({list(object("a", 3), 7),
          stream(R"({"type": "ERROR", "object": {"kind": "Status", "code": 410}})"
                 "\n"),
          list(object("b", 30), 31), refusal(410, "Expired"), list("", 40),
          stream(event("ADDED", "last", 41))});
  follow_to_the_end();
  EXPECT_THAT(notes_.said, ElementsAre("reset a", "reset b", "reset", "changed last"));
  EXPECT_THAT(versions(), ElementsAre("list", "7", "list", "31", "list", "40"));
}

TEST_F(WatchTest, BeginsAListAgainWhosePagesAreGone) {
  script({list(object("a", 3), 7, "next"), refusal(410, "Expired"), list(object("last", 9), 9)});
  follow_to_the_end();
  EXPECT_THAT(notes_.said, ElementsAre("reset last"));
}

TEST_F(WatchTest, AnExpiredTokenIsRenewed) {
  script({list("", 7), refusal(401, "Unauthorized"), stream(event("ADDED", "last", 8))});
  follow_to_the_end();
  EXPECT_EQ(seen().at(2).authorization, "Bearer token-2");
}

TEST_F(WatchTest, AMissingPermissionEndsIt) {
  script({list("", 7), refusal(403, "Forbidden", "may not watch pods")});
  ApiClient client = api();
  Watch watch(client, "/pods");
  const auto followed = watch.follow(notes_, Deadline::in(30s));
  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code, ErrorCode::PermissionDenied);
}

TEST_F(WatchTest, EndsAtTheDeadlineAndGoesOnAfterIt) {
  // After version 7 the server sends one change, and then nothing until the client hangs up.
  start([](http::Exchange& exchange) {
    const std::string* version = exchange.target().parameter("resourceVersion");
    if (version == nullptr) return list("", 7)(exchange);
    if (*version != "7") return stream(event("ADDED", "last", 9))(exchange);
    (void)exchange.begin_stream(200, {});
    (void)exchange.write(event("ADDED", "a", 8));
    (void)wait_for(exchange.hang_up_descriptor(), POLLIN, Deadline::in(60s));
  });
  ApiClient client = api();
  Watch watch(client, "/pods");
  int early = 0;
  for (bool is_done = false; !is_done && early < 100; early += is_done ? 0 : 1) {
    const auto followed = watch.follow(notes_, Deadline::in(300ms));
    ASSERT_TRUE(followed) << followed.error().message;
    is_done = *followed;
  }
  EXPECT_GE(early, 1);
  EXPECT_THAT(notes_.said, ElementsAre("reset", "changed a", "changed last"));
}

}  // namespace
}  // namespace nutshell::kubernetes
