#include "egress/rules.h"

#include <gtest/gtest.h>

#include "egress/presets.h"

namespace nutshell::egress {
namespace {

using Grant = RuleList::Grant;

RuleList list(const std::vector<std::string>& texts) {
  auto parsed = RuleList::parse(texts);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : RuleList();
}

Address address(std::string_view text) {
  return Address::parse(text).value_or(Address());
}

std::string refusal_of(const std::string& text) {
  const auto parsed = RuleList::parse({text});
  EXPECT_FALSE(parsed) << text;
  return parsed ? "" : parsed.error().message;
}

TEST(Rules, AllowANameOnTheWebsPorts) {
  const RuleList rules = list({"Example.org."});
  EXPECT_TRUE(rules.names("example.org"));
  EXPECT_EQ(rules.grant_of("example.org", 443), Grant::Web);
  EXPECT_EQ(rules.grant_of("example.org", 80), Grant::Web);
  EXPECT_EQ(rules.grant_of("example.org", 22), Grant::None);
  EXPECT_EQ(rules.grant_of("www.example.org", 443), Grant::None);
  EXPECT_EQ(rules.grant_of("example.org.evil.com", 443), Grant::None);
}

TEST(Rules, AllowEveryProtocolOnAPortThatTheyName) {
  const RuleList rules = list({"db.example.org:5432", "example.org:443", "all.example.org:*"});
  EXPECT_EQ(rules.grant_of("db.example.org", 5432), Grant::Any);
  EXPECT_EQ(rules.grant_of("db.example.org", 443), Grant::None);
  EXPECT_EQ(rules.grant_of("example.org", 443), Grant::Web);
  EXPECT_EQ(rules.grant_of("example.org", 80), Grant::None);
  EXPECT_EQ(rules.grant_of("all.example.org", 22), Grant::Any);
  EXPECT_EQ(rules.grant_of("all.example.org", 443), Grant::Web);
}

TEST(Rules, HaveWildcardsForNamesBelow) {
  const RuleList rules = list({"*.example.org"});
  EXPECT_TRUE(rules.names("a.b.example.org"));
  EXPECT_FALSE(rules.names("example.org"));
  EXPECT_FALSE(rules.names("evilexample.org"));
}

TEST(Rules, AllowAddressesAndRanges) {
  const RuleList rules = list(
      {"192.0.2.1:8080", "10.1.0.0/16:5432", "[2001:db8::1]:22", "2001:db8:1::/48", "127.0.0.1:*"});
  EXPECT_TRUE(rules.allows_address(address("192.0.2.1"), 8080));
  EXPECT_TRUE(rules.allows_address(address("::ffff:192.0.2.1"), 8080));
  EXPECT_FALSE(rules.allows_address(address("192.0.2.1"), 80));
  EXPECT_TRUE(rules.allows_address(address("10.1.9.9"), 5432));
  EXPECT_TRUE(rules.allows_address(address("2001:db8::1"), 22));
  EXPECT_TRUE(rules.allows_address(address("2001:db8:1:2::3"), 443));
  EXPECT_TRUE(rules.allows_address(address("127.0.0.1"), 9));
  EXPECT_TRUE(rules.has_address(address("192.0.2.1")));
  EXPECT_FALSE(rules.has_address(address("192.0.2.2")));
}

TEST(Rules, AllowRequestsByMethodAndPath) {
  const RuleList rules = list(
      {"GET http://a.example/pkg/*", "POST,PUT https://b.example/x", "https://c.example:8443/"});
  EXPECT_EQ(rules.grant_of("a.example", 80), Grant::Requests);
  EXPECT_EQ(rules.grant_of("a.example", 443), Grant::None);
  EXPECT_EQ(rules.grant_of("b.example", 443), Grant::Requests);
  EXPECT_TRUE(rules.needs_inspection());
  EXPECT_FALSE(list({"GET http://a.example/pkg/*", "b.example"}).needs_inspection());
  const auto allows = [&](std::string_view method, std::string_view scheme, std::string_view host,
                          std::string_view path, std::uint16_t port) {
    return rules.allows_request(
        {std::string(method), std::string(scheme), std::string(host), std::string(path), port});
  };
  EXPECT_TRUE(allows("GET", "http", "a.example", "/pkg/x?y=%2e", 80));
  EXPECT_TRUE(allows("GET", "http", "A.Example.", "/pkg/.hidden/a..b", 80));
  EXPECT_FALSE(allows("POST", "http", "a.example", "/pkg/x", 80));
  EXPECT_FALSE(allows("GET", "https", "a.example", "/pkg/x", 80));
  EXPECT_FALSE(allows("GET", "http", "a.example", "/pkg", 80));
  for (const std::string_view path :
       {"/pkg/../admin", "/pkg/%2e%2e/admin", "/pkg/..%2fadmin", "/pkg/..;/admin", "/pkg//../admin",
        "/pkg/\\..\\admin", "/pkg/%252e%252e/x", "/pkg/.", "http://evil/pkg/"}) {
    EXPECT_FALSE(allows("GET", "http", "a.example", path, 80)) << path;
  }
  EXPECT_TRUE(allows("PUT", "https", "b.example", "/x", 443));
  EXPECT_FALSE(allows("PUT", "https", "b.example", "/x/y", 443));
  EXPECT_FALSE(allows("GET", "https", "c.example", "/", 443));
  EXPECT_TRUE(allows("GET", "https", "c.example", "/", 8443));
}

TEST(Rules, ARuleWithoutRequestsAllowsThemAll) {
  const RuleList rules = list({"a.example", "GET http://a.example/x"});
  EXPECT_EQ(rules.grant_of("a.example", 80), Grant::Web);
  EXPECT_TRUE(rules.allows_request({"DELETE", "http", "a.example", "/y", 80}));
}

TEST(Rules, RefusalsTeach) {
  EXPECT_NE(refusal_of("*").find("unsafe-full"), std::string::npos);
  EXPECT_NE(refusal_of("localhost:80").find("127.0.0.1:PORT"), std::string::npos);
  EXPECT_NE(refusal_of("localhost").find("127.0.0.1:PORT"), std::string::npos);
  EXPECT_NE(refusal_of("pipi").find("did you mean pypi?"), std::string::npos) << refusal_of("pipi");
  EXPECT_NE(refusal_of("db").find("db:443"), std::string::npos);
  EXPECT_NE(refusal_of("10.1.2.3/16").find("10.1.0.0/16"), std::string::npos);
  EXPECT_NE(refusal_of("https://u@a.example/").find("user name"), std::string::npos);
  EXPECT_NE(refusal_of("b\xc3\xbc"
                       "cher.example")
                .find("xn--"),
            std::string::npos);
}

TEST(Rules, RefuseWhatTheyDoNotUnderstand) {
  for (const std::string& text : {std::string(),
                                  std::string("a.example:"),
                                  std::string("a.example:0"),
                                  std::string("a.example:65536"),
                                  std::string("a.example:80x"),
                                  std::string("a.example:-1"),
                                  std::string("a.*.example"),
                                  std::string("*a.example"),
                                  std::string("*."),
                                  std::string("*.*.example"),
                                  std::string("a b"),
                                  std::string("get http://a.example/"),
                                  std::string("GET ftp://a.example/"),
                                  std::string("GET  http://a.example/"),
                                  std::string("GET http:///x"),
                                  std::string("GET http://a.example/x?y"),
                                  std::string("GET http://a.example/../x"),
                                  std::string("GET http://a.example/a*b"),
                                  std::string("GET http://a.example/%41"),
                                  std::string("GET http://10.0.0.1/"),
                                  std::string("[::1"),
                                  std::string("[::1]x"),
                                  std::string("[a.example]:80"),
                                  std::string("[1.2.3.4/8"),
                                  std::string("1.2.3"),
                                  std::string("1.2.3.4.5"),
                                  std::string("a.example\0.b", 12),
                                  std::string("a.example/24"),
                                  std::string(2000, 'a'),
                                  std::string("http://a.example"),
                                  std::string("a.example:80:90"),
                                  std::string("::1:x")}) {
    if (text == "http://a.example") continue;  // all its requests
    EXPECT_FALSE(RuleList::parse({text})) << text;
  }
}

TEST(Rules, SummaryNamesTheFirst) {
  EXPECT_EQ(list({"pypi", "*.example.org"}).summary(), "pypi, *.example.org");
  std::vector<std::string> many;
  for (int number = 0; number < 20; ++number)
    many.push_back("h" + std::to_string(number) + ".example");
  EXPECT_TRUE(list(many).summary().ends_with("h11.example and 8 more"));
}

TEST(Presets, AreRulesWithAWordOfHelp) {
  ASSERT_GE(presets().size(), 8U);
  for (const Preset& preset : presets()) {
    EXPECT_FALSE(preset.help.empty()) << preset.name;
    EXPECT_FALSE(preset.rules.empty()) << preset.name;
    EXPECT_TRUE(RuleList::parse({preset.name})) << preset.name;
    for (const std::string& rule : preset.rules)
      EXPECT_EQ(find_preset(rule), nullptr) << preset.name;
  }
  for (const std::string_view name :
       {"pypi", "npm", "crates", "go", "debian", "git-hosts", "anthropic", "openai"}) {
    EXPECT_NE(find_preset(name), nullptr) << name;
  }
  EXPECT_EQ(list({"git-hosts"}).grant_of("github.com", 22), Grant::Any);
  EXPECT_EQ(list({"git-hosts"}).grant_of("github.com", 443), Grant::Web);
  EXPECT_EQ(list({"pypi"}).grant_of("pypi.org", 80), Grant::None);
}

}  // namespace
}  // namespace nutshell::egress
