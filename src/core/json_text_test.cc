#include "core/json_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
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

// The thread's CPU time for both parsers, in nanoseconds; the least of three tries.
double cost_of(const std::string& text) {
  double least = 1e18;
  for (int i = 0; i < 3; ++i) {
    timespec before{};
    timespec after{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    EXPECT_EQ(refusal(text), "");
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    least = std::min(least, static_cast<double>(after.tv_sec - before.tv_sec) * 1e9 +
                                static_cast<double>(after.tv_nsec - before.tv_nsec));
  }
  return least;
}

// `count` numbered parts between brackets, with commas.
std::string joined(char open, int count, const std::function<std::string(int)>& part, char close) {
  std::string text(1, open);
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + part(i);
  return text + close;
}

// Four times as many values must not take ten times as long; with one search of all values for each
// value it would be sixteen times.
TEST(ParseStrict, TakesTimeInProportionToTheNumberOfValues) {
  const auto list = [](int count) {
    return joined(
        '[', count, [](int) { return "0"; }, ']');
  };
  const auto list_of_objects = [](int count) {
    return joined(
        '[', count / 2, [](int i) { return fmt::format("{{\"k{}\":0}}", i); }, ']');
  };
  const auto object = [](int count) {
    return joined(
        '{', count, [](int i) { return fmt::format("\"k{}\":0", i); }, '}');
  };
  const auto object_of_lists = [](int count) {
    return joined(
        '{', count / 2, [](int i) { return fmt::format("\"k{}\":[0]", i); }, '}');
  };
  const std::map<std::string, std::function<std::string(int)>> shapes = {
      {"list", list},
      {"list of objects", list_of_objects},
      {"object", object},
      {"object of lists", object_of_lists}};
  for (const auto& [name, text_of] : shapes)
    EXPECT_LT(cost_of(text_of(100'000)), 10 * cost_of(text_of(25'000))) << name;
}

}  // namespace
}  // namespace nutshell
