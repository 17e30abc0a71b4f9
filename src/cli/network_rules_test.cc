#include "cli/network_rules.h"

#include <gmock/gmock.h>

namespace nutshell::cli {
namespace {

using Kind = NetworkEventKind;
using testing::ElementsAre;

NetworkEvent event(Kind kind, std::string host, std::uint16_t port, std::string rule = {}) {
  NetworkEvent made;
  made.kind = kind;
  made.host = std::move(host);
  made.port = port;
  made.rule = std::move(rule);
  return made;
}

TEST(NetworkRules, AreTheNarrowestForWhatWasRefused) {
  EXPECT_THAT(rules_for_refused({event(Kind::Refused, "b.test", 443, "b.test:443"),
                                 event(Kind::Opened, "c.test", 443, "c.test:443"),
                                 event(Kind::Refused, "a.test", 0, "a.test"),
                                 event(Kind::Refused, "b.test", 443, "b.test:443"),
                                 event(Kind::Refused, "d.test", 443)}),
              ElementsAre("a.test", "b.test:443"));
}

TEST(NetworkRules, NameEachHostAndPortThatWasReached) {
  EXPECT_THAT(rules_for_reached({event(Kind::Opened, "a.test", 443, "unsafe-full"),
                                 event(Kind::Closed, "a.test", 443, "unsafe-full"),
                                 event(Kind::Opened, "2001:db8::1", 22, "unsafe-full"),
                                 event(Kind::Failed, "b.test", 0),
                                 event(Kind::Refused, "c.test", 443, "c.test:443")}),
              ElementsAre("[2001:db8::1]:22", "a.test:443"));
}

TEST(NetworkRules, AreWordsOfAShell) {
  EXPECT_EQ(
      allow_flags({"a.test:443", "[2001:db8::1]:22", "GET https://a.test/$(id)'`"}),
      "--allow a.test:443 --allow '[2001:db8::1]:22' --allow 'GET https://a.test/$(id)'\\''`'");
  EXPECT_EQ(allow_flags({}), "");
}

TEST(NetworkAttempts, AreSummedUpByPlace) {
  NetworkEvent refused = event(Kind::Refused, "a.test", 443);
  refused.count = 3;
  refused.reason = "a.test:443 is not allowed";
  NetworkEvent request = event(Kind::Refused, "a.test", 443);
  request.method = "POST";
  request.path = "/upload";
  const auto places = attempts_of(
      {event(Kind::Opened, "a.test", 443), refused, request, event(Kind::Closed, "a.test", 443)});
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places.begin()->first, "POST a.test:443/upload");
  EXPECT_EQ(counts_text(places.at("a.test:443")), "1 opened, 3 refused");
  EXPECT_EQ(places.at("a.test:443").reason, "a.test:443 is not allowed");
}

}  // namespace
}  // namespace nutshell::cli
