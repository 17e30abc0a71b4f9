#include "server/mcp/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell::mcp {
namespace {

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(ParseStrict, TakesWhatIsJson) {
  const auto parsed = parse_strict(R"({"a":[1,-2,3.5,"x\u0000y",true,null],"b":{"c":{}}})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ((*parsed)["a"][3].get<std::string>().size(), 3U);
  EXPECT_TRUE((*parsed)["b"]["c"].is_object());
}

TEST(ParseStrict, RefusesAKeyGivenTwice) {
  EXPECT_FALSE(parse_strict(R"({"network":"none","network":"host"})"));
  EXPECT_FALSE(parse_strict(R"({"a":{"b":1,"b":2}})"));
  EXPECT_FALSE(parse_strict(R"({"a":1,"\u0061":2})"));
}

TEST(ParseStrict, RefusesBytesThatAreNotUtf8) {
  EXPECT_FALSE(parse_strict("{\"a\":\"\xff\"}"));
  EXPECT_FALSE(parse_strict("{\"a\":\"\xc0\xaf\"}"));
  EXPECT_FALSE(parse_strict(R"({"a":"\ud800"})"));
  EXPECT_FALSE(parse_strict("\xef\xbb\xbf{}"));
}

TEST(ParseStrict, RefusesNestingBeyondItsBound) {
  EXPECT_TRUE(parse_strict(nested(kMostDepth)));
  EXPECT_FALSE(parse_strict(nested(kMostDepth + 1)));
  EXPECT_FALSE(parse_strict(std::string(1'000'000, '[')));
}

TEST(ParseStrict, RefusesMoreValuesThanItsBound) {
  std::string many = "[0";
  for (std::size_t i = 0; i < kMostValues; ++i)
    many += ",0";
  EXPECT_FALSE(parse_strict(many + "]"));
}

TEST(ParseStrict, RefusesWhatIsNoNumberAndWhatFollows) {
  for (const char* text : {"NaN", "1e999", "-", "01", "{} {}", "{", "", " ", "{\"a\":}", "tru"})
    EXPECT_FALSE(parse_strict(text)) << text;
}

TEST(WithFields, AddsToEmptyAndFullObjects) {
  EXPECT_EQ(with_fields("{}", "\"a\":1"), "{\"a\":1}");
  EXPECT_EQ(with_fields("{\"b\":2}", "\"a\":1"), "{\"b\":2,\"a\":1}");
  EXPECT_EQ(with_fields("{}", ""), "{}");
}

TEST(JsonString, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_string("a\xff\n"), "\"a\xef\xbf\xbd\\n\"");
}

}  // namespace
}  // namespace nutshell::mcp
