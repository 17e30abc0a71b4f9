#include "egress/inspect/cached_answer.h"

#include <filesystem>

#include "base/scratch_fixture.h"
#include "egress/inspect/tls_gate_fixture.h"

namespace nutshell::egress {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kHost = "files.pythonhosted.org";
const std::string kWheel = "/packages/ab/cd/x-1.0-py3-none-any.whl";

class CachedAnswerTest : public TlsGateTest {
 protected:
  CachedAnswerTest() { settings_.cache = {&store_, {"pypi"}}; }
  ~CachedAnswerTest() override { end_sandbox(); }

  void start(const std::string& host, const std::string& answer) {
    start_tls_server(
        [this, answer](http::Transport& transport) {
          for (;;) {
            const std::string request = read_text(transport, "\r\n\r\n");
            if (request.empty()) return;
            requests_.with([&](auto& all) { all.push_back(request); });
            send_text(transport, answer);
          }
        },
        host);
    guard_.places[host] = server_->port();
  }

  std::string get(const std::string& host, const std::string& path,
                  const std::string& headers = {}) {
    std::string answer;
    {
      auto transport = connect_tls(host, host);
      EXPECT_TRUE(transport) << transport.error().message;
      if (!transport) return {};
      send_text(**transport,
                "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n");
      (*transport)->end_writing();
      answer = read_text(**transport);
    }
    end_sandbox();
    return answer;
  }

  std::vector<std::string> requests() {
    return requests_.with([](auto& all) { return all; });
  }

  void go_offline() {
    for (auto& place : guard_.places)
      place.second = 1;  // nobody listens there
  }

  ScratchDirectory scratch_;
  PackageStore store_ = std::move(*PackageStore::open(scratch_.path(), 1U << 20U));
  Guarded<std::vector<std::string>> requests_;
};

TEST_F(CachedAnswerTest, ReleasesAreDownloadedOnce) {
  start(kHost,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"e\"\r\nSet-Cookie: a=b\r\n\r\nwheel");
  EXPECT_THAT(get(kHost, kWheel, "X-Poison: 1\r\nRange: bytes=1-\r\nAccept-Encoding: gzip\r\n"),
              HasSubstr("Set-Cookie: a=b\r\n"));
  ASSERT_EQ(requests().size(), 1U);
  EXPECT_THAT(requests()[0], Not(HasSubstr("Poison")));
  EXPECT_THAT(requests()[0], Not(HasSubstr("Range")));
  EXPECT_THAT(requests()[0], HasSubstr("Accept-Encoding: identity\r\n"));
  go_offline();
  const std::string again = get(kHost, kWheel);
  EXPECT_THAT(again, testing::EndsWith("\r\n\r\nwheel"));
  EXPECT_THAT(again, HasSubstr("X-Nutshell-Cache: hit\r\n"));
  EXPECT_THAT(again, Not(HasSubstr("Set-Cookie")));
  EXPECT_THAT(get(kHost, kWheel, "If-None-Match: \"e\"\r\n"), StartsWith("HTTP/1.1 304"));
  EXPECT_EQ(requests().size(), 1U);
}

TEST_F(CachedAnswerTest, QueriesAndLongNamesKeepNothing) {
  start(kHost, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwheel");
  for (const std::string& path :
       {kWheel + "?1", "/packages/ab/" + std::string(1024, 'x') + ".whl"}) {
    (void)get(kHost, path);
    EXPECT_THAT(get(kHost, path), Not(HasSubstr("X-Nutshell-Cache")));
  }
  EXPECT_EQ(requests().size(), 4U);
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path() / "entries"));
}

// A wrong answer that was kept does not stay: clients ask past caches when a hash is wrong.
TEST_F(CachedAnswerTest, AsksAgainIfTheClientWantsIt) {
  start(kHost, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong");
  (void)get(kHost, kWheel);
  start(kHost, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright");
  EXPECT_THAT(get(kHost, kWheel), HasSubstr("wrong"));
  EXPECT_THAT(get(kHost, kWheel, "Cache-Control: no-cache\r\n"), HasSubstr("right"));
  EXPECT_THAT(get(kHost, kWheel), HasSubstr("right"));
}

TEST_F(CachedAnswerTest, RulesHoldForKeptAnswersToo) {
  start(kHost, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwheel");
  (void)get(kHost, kWheel);
  guard_.refused_path = "/packages";
  EXPECT_THAT(get(kHost, kWheel), StartsWith("HTTP/1.1 403"));
}

TEST_F(CachedAnswerTest, IndexesAreAskedAboutAgain) {
  start("pypi.org", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"1\"\r\n\r\nindex");
  EXPECT_THAT(get("pypi.org", "/simple/x/"), testing::EndsWith("index"));
  start("pypi.org", "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n");
  EXPECT_THAT(get("pypi.org", "/simple/x/"), testing::EndsWith("\r\n\r\nindex"));
  EXPECT_THAT(requests().back(), HasSubstr("If-None-Match: \"1\"\r\n"));
  start("pypi.org", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"2\"\r\n\r\nnew");
  EXPECT_THAT(get("pypi.org", "/simple/x/"), testing::EndsWith("\r\n\r\nnew"));
  start("pypi.org", "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
  EXPECT_THAT(get("pypi.org", "/simple/x/"), testing::EndsWith("\r\n\r\nnew"));
  go_offline();
  EXPECT_THAT(get("pypi.org", "/simple/x/"), testing::EndsWith("\r\n\r\nnew"));
  EXPECT_THAT(get("pypi.org", "/simple/y/"), StartsWith("HTTP/1.1 502"));
  // Another form of the index is another answer.
  EXPECT_THAT(get("pypi.org", "/simple/x/", "Accept: application/vnd.pypi.simple.v1+json\r\n"),
              StartsWith("HTTP/1.1 502"));
}

TEST_F(CachedAnswerTest, FreshIndexesAreGivenAtOnce) {
  start("pypi.org",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=600, public\r\n\r\nindex");
  (void)get("pypi.org", "/simple/x/");
  (void)get("pypi.org", "/simple/x/");
  EXPECT_EQ(requests().size(), 1U);
}

TEST_F(CachedAnswerTest, OnlyWholeAndPublicAnswersAreKept) {
  for (const std::string answer :
       {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: private\r\n\r\nwheel"}) {
    start(kHost, answer);
    (void)get(kHost, kWheel);
  }
  start_tls_server(
      [](http::Transport& transport) {
        (void)read_text(transport, "\r\n\r\n");
        send_text(transport, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
      },
      kHost);
  guard_.places[kHost] = server_->port();
  (void)get(kHost, kWheel);
  go_offline();
  EXPECT_THAT(get(kHost, kWheel), StartsWith("HTTP/1.1 502"));
}

TEST_F(CachedAnswerTest, RequestsWithCredentialsAreLeftAlone) {
  start(kHost, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwheel");
  (void)get(kHost, kWheel, "Authorization: Basic eDp5\r\n");
  (void)get(kHost, kWheel, "Authorization: Basic eDp5\r\nX-Own: 1\r\n");
  ASSERT_EQ(requests().size(), 2U);
  EXPECT_THAT(requests()[1], HasSubstr("X-Own: 1\r\n"));
}

}  // namespace
}  // namespace nutshell::egress
