#include "core/json_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace nutshell {
namespace {

using testing::HasSubstr;

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

// The message of both parsers; empty if they accept the text.
std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
  const auto sorted = parse_strict(text, limits);
  const auto ordered = parse_strict_ordered(text, limits);
  EXPECT_EQ(sorted.has_value(), ordered.has_value()) << text.substr(0, 80);
  if (sorted) return {};
  EXPECT_EQ(sorted.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(sorted.error().message, ordered.error().message);
  return sorted.error().message;
}

TEST(ParseStrict, BuildsTheValue) {
  const std::string text = R"({"b":{"c":{}},"a":[1,-2,3.5,"x\u0000y",true,null,[],{"k":[{}]}]})";
  EXPECT_EQ(*parse_strict(text), nlohmann::json::parse(text));
  EXPECT_EQ(*parse_strict_ordered(text), nlohmann::ordered_json::parse(text));
  EXPECT_EQ(parse_strict_ordered(text)->dump(), text);
  EXPECT_EQ(*parse_strict("7"), 7);
}

TEST(ParseStrict, RefusesAKeyGivenTwice) {
  EXPECT_THAT(refusal(R"({"network":"none","network":"host"})"),
              HasSubstr("the key 'network' is given twice"));
  EXPECT_THAT(refusal(R"({"a":{"b":1,"b":2}})"), HasSubstr("'b'"));
  EXPECT_THAT(refusal(R"({"a":1,"\u0061":2})"), HasSubstr("'a'"));
  EXPECT_EQ(refusal(R"({"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":2}]})"), "");
}

TEST(ParseStrict, RefusesBytesThatAreNotUtf8) {
  EXPECT_NE(refusal("{\"a\":\"\xff\"}"), "");
  EXPECT_NE(refusal("{\"a\":\"\xc0\xaf\"}"), "");
  EXPECT_NE(refusal(R"({"a":"\ud800"})"), "");
  EXPECT_THAT(refusal("\xef\xbb\xbf{}"), HasSubstr("byte order mark"));
}

TEST(ParseStrict, RefusesWhatExceedsTheLimits) {
  const JsonLimits limits{.bytes = 1000, .depth = 3, .values = 5, .members = 2};
  EXPECT_EQ(refusal("[1,2,3,4,5]", limits), "");
  EXPECT_THAT(refusal("[1,2,3,4,5,6]", limits), HasSubstr("more than 5 values"));
  EXPECT_EQ(refusal(nested(3), limits), "");
  EXPECT_THAT(refusal(nested(4), limits), HasSubstr("more than 3 levels"));
  EXPECT_EQ(refusal(R"({"a":1,"b":{"a":1,"b":2}})", limits), "");
  EXPECT_THAT(refusal(R"({"a":1,"b":2,"c":3})", limits), HasSubstr("more than 2 members"));
  EXPECT_THAT(refusal('"' + std::string(1000, 'x') + '"', limits), HasSubstr("1000 bytes"));
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "");
}

TEST(ParseStrict, RefusesWhatIsNoNumberAndWhatFollows) {
  for (const char* text : {"NaN", "1e999", "-", "01", "{} {}", "{", "", " ", "{\"a\":}", "tru"})
    EXPECT_THAT(refusal(text), HasSubstr("not JSON")) << text;
}

}  // namespace
}  // namespace nutshell
