#include "egress/judge.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

using Way = Judgement::Way;
using Kind = FirstBytes::Kind;

Judge judge_of(std::vector<std::string> allow, TlsMode tls = TlsMode::Pass) {
  NetworkPolicy policy;
  policy.allow = std::move(allow);
  policy.tls = tls;
  auto judge = Judge::create(policy);
  EXPECT_TRUE(judge) << judge.error().message;
  return std::move(*judge);
}

Address address(std::string_view text) {
  return Address::parse(text).value_or(Address());
}

const Address kServer = *Address::parse("151.101.0.223");

TEST(Judge, AllowsTheAddressesOfAllowedNames) {
  const Judge judge = judge_of({"pypi.org:443"});
  EXPECT_TRUE(judge.may_look_up("pypi.org"));
  EXPECT_FALSE(judge.may_look_up("evil.example"));
  EXPECT_EQ(judge.judge(kServer, 443, {"pypi.org"}).way, Way::ByNames);
  EXPECT_EQ(judge.judge(kServer, 80, {"pypi.org"}).way, Way::Refused);
  EXPECT_EQ(judge.judge(kServer, 443, {}).way, Way::Refused);
  EXPECT_EQ(judge.judge(kServer, 443, {"other.example"}).way, Way::Refused);
}

TEST(Judge, AllowsTheStandInOfKeptDownloadsOnly) {
  NetworkPolicy policy;
  policy.allow = {"pypi.org:*", "pypi.org", "example.org"};
  policy.tls = TlsMode::Inspect;
  policy.caches = {"pypi"};
  const auto judge = Judge::create(policy);
  ASSERT_TRUE(judge);
  EXPECT_FALSE(judge->may_lead_to(stand_in_address()));
  EXPECT_EQ(judge->judge(stand_in_address(), 443, {"pypi.org"}).way, Way::ByNames);
  EXPECT_EQ(judge->judge(stand_in_address(), 22, {"pypi.org"}).way, Way::Refused);
  EXPECT_EQ(judge->judge(stand_in_address(), 443, {"example.org"}).way, Way::Refused);
  EXPECT_EQ(judge->judge(stand_in_address(), 443, {"files.pythonhosted.org"}).way, Way::Refused);
  EXPECT_EQ(judge_of({"pypi.org"}).judge(stand_in_address(), 443, {"pypi.org"}).way, Way::Refused);
}

TEST(Judge, TellsWhatWouldHaveBeenAllowed) {
  const Judge judge = judge_of({"pypi", "10.0.0.0/8:5432"});
  const auto refused = judge.judge(kServer, 22, {"pypi.org"});
  EXPECT_EQ(refused.reason, "pypi.org:22 is not allowed; allowed are pypi, 10.0.0.0/8:5432");
  EXPECT_EQ(refused.rule, "pypi.org:22");
  EXPECT_EQ(judge.judge(address("2001:db8::1"), 443, {}).rule, "[2001:db8::1]:443");
  EXPECT_EQ(judge.why_no_look_up("a.example"),
            "a.example is not allowed; allowed are pypi, 10.0.0.0/8:5432");
}

TEST(Judge, NamesDoNotLeadToSpecialAddresses) {
  const Judge judge = judge_of({"a.example", "10.1.0.0/16:9"});
  EXPECT_FALSE(judge.may_lead_to(address("10.2.0.1")));
  EXPECT_FALSE(judge.may_lead_to(address("169.254.169.254")));
  EXPECT_FALSE(judge.may_lead_to(address("::ffff:127.0.0.1")));
  EXPECT_TRUE(judge.may_lead_to(address("10.1.0.1")));
  EXPECT_TRUE(judge.may_lead_to(kServer));
  // A name that led there adds nothing to what rules say about the address.
  EXPECT_EQ(judge.judge(address("10.1.0.1"), 443, {"a.example"}).way, Way::Refused);
  EXPECT_EQ(judge.judge(address("10.1.0.1"), 9, {"a.example"}).way, Way::Free);
  EXPECT_EQ(judge.judge(address("10.2.0.1"), 443, {"a.example"}).way, Way::Refused);
}

TEST(Judge, LoopbackOfTheHostNeedsARule) {
  EXPECT_EQ(judge_of({"127.0.0.1:8080"}).judge(address("127.0.0.1"), 8080, {}).way, Way::Free);
  EXPECT_EQ(judge_of({"127.0.0.1:8080"}).judge(address("127.0.0.1"), 8081, {}).way, Way::Silent);
  NetworkPolicy full;
  full.mode = NetworkMode::UnsafeFull;
  const auto judge = Judge::create(full);
  ASSERT_TRUE(judge);
  EXPECT_EQ(judge->judge(address("127.0.0.1"), 80, {}).way, Way::Silent);
  EXPECT_EQ(judge->judge(address("10.0.0.1"), 80, {}).way, Way::Free);
  EXPECT_TRUE(judge->may_look_up("anything.example"));
}

TEST(Judge, AllowsContentForTheNamesThatLedThere) {
  const Judge judge = judge_of({"a.example", "b.example", "c.example:22"});
  const auto connection = judge.judge(kServer, 443, {"a.example"});
  const auto way = [&](const FirstBytes& bytes) {
    return judge.judge_content(bytes, connection, 443).way;
  };
  EXPECT_EQ(way({}), Content::Way::Incomplete);
  EXPECT_EQ(way({Kind::Tls, "A.example.", false}), Content::Way::Tls);
  EXPECT_EQ(way({Kind::Http, "a.example", false}), Content::Way::Http);
  EXPECT_EQ(way({Kind::Tls, "", false}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Tls, "a.example", true}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Tls, "b.example", false}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Tls, "151.101.0.223", false}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Tls, std::string("a.example\0.b", 12), false}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Http, "a.example.evil.com", false}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Other, "", false}), Content::Way::Refused);
  EXPECT_EQ(way({Kind::Malformed, "", false}), Content::Way::Refused);
  const auto ssh = judge.judge(kServer, 22, {"c.example"});
  EXPECT_EQ(judge.judge_content({Kind::Other, "", false}, ssh, 22).way, Content::Way::Plain);
  EXPECT_EQ(judge.judge_content({Kind::Tls, "a.example", false}, ssh, 22).way,
            Content::Way::Refused);
}

TEST(Judge, HidesNoRequestsInTls) {
  NetworkPolicy policy;
  policy.allow = {"GET https://a.example/x*"};
  EXPECT_FALSE(Judge::create(policy));
  const Judge plain = judge_of({"GET http://a.example:8080/x*"});
  const auto connection = plain.judge(kServer, 8080, {"a.example"});
  EXPECT_EQ(plain.judge_content({Kind::Tls, "a.example", false}, connection, 8080).way,
            Content::Way::Refused);
  EXPECT_EQ(plain.judge_content({Kind::Http, "a.example", false}, connection, 8080).way,
            Content::Way::Http);
  const Judge inspecting = judge_of({"GET https://a.example/x*"}, TlsMode::Inspect);
  EXPECT_EQ(inspecting
                .judge_content({Kind::Tls, "a.example", false},
                               inspecting.judge(kServer, 443, {"a.example"}), 443)
                .way,
            Content::Way::Tls);
}

}  // namespace
}  // namespace nutshell::egress
