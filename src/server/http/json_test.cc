#include "server/http/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/http/metrics_text.h"
#include "server/http/shapes.h"

namespace nutshell::server {
namespace {

TEST(ParseJson, RefusesWhatCanBeReadInTwoWays) {
  for (const std::string& text :
       {std::string(R"({"a":1,"a":2})"), std::string(R"({"x":{"a":1,"b":{"c":1,"c":1}}})"),
        std::string("{} {}"), std::string("{\"a\":\"\xff\"}"), std::string(R"({"a":"\ud800"})"),
        std::string("\xef\xbb\xbf{}"), std::string("NaN"), std::string(R"({"a":1e999})"),
        std::string(""), std::string(1'000'000, '['), std::string("{\"a\":\x01}")}) {
    EXPECT_FALSE(parse_json(text)) << text.substr(0, 40);
  }
  EXPECT_TRUE(parse_json(R"({"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":2}]})"));
  EXPECT_TRUE(parse_json(
      R"({"deep":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})"));
}

TEST(ParseJson, RefusesMoreValuesThanFitInMemory) {
  std::string many = "[0";
  for (int i = 1; i < 200'000; ++i)
    many += ",0";
  EXPECT_TRUE(parse_json(many + "]"));
  EXPECT_FALSE(parse_json(many + ",0]"));
  EXPECT_TRUE(parse_json("\"" + std::string(1'000'000, ',') + "\""));
}

TEST(SetText, GivesBytesThatAreNoTextWhole) {
  Json object;
  set_text(object, "a", "ä");
  set_text(object, "b", std::string_view("\xff\0x", 3));
  EXPECT_EQ(object["a"], "ä");
  EXPECT_EQ(object.contains("a_base64"), false);
  EXPECT_EQ(object["b_base64"], "/wB4");
}

TEST(UnfinishedTail, CountsTheBytesOfACutCharacter) {
  EXPECT_EQ(unfinished_tail(""), 0U);
  EXPECT_EQ(unfinished_tail("abc"), 0U);
  EXPECT_EQ(unfinished_tail("a\xc3"), 1U);
  EXPECT_EQ(unfinished_tail("a\xc3\xa4"), 0U);
  EXPECT_EQ(unfinished_tail("\xe2\x82"), 2U);
  EXPECT_EQ(unfinished_tail("\xf0\x9f\x90"), 3U);
  EXPECT_EQ(unfinished_tail("\x80\x80\x80\x80"), 0U);
}

TEST(Shape, RefusesUnknownKeysWithAHint) {
  const auto check = [](const char* text) {
    return check_shape(*parse_json(text), shape_of<SandboxSpec, Direction::Taken>());
  };
  EXPECT_TRUE(check(R"({"ttl_ms":1,"labels":{"a":"b"},"limits":{"memory_bytes":16777216}})"));
  EXPECT_EQ(check(R"({"limits":{"memory_byte":1}})").error().message,
            "unknown key 'limits.memory_byte': did you mean 'memory_bytes'?");
  for (const char* wrong : {R"({"ttl_ms":-1})", R"({"ttl_ms":1.5})", R"({"ttl_ms":"1"})",
                            R"({"ttl_ms":99999999999999999999})", R"({"labels":{"a":1}})",
                            R"({"labels":[]})", R"({"workspace_mode":"x"})", R"([])", R"(null)",
                            R"({"unsafe_mounts":[{"source":"/"}]})", R"({"require":[1]})"}) {
    EXPECT_FALSE(check(wrong)) << wrong;
  }
}

TEST(MetricsText, EscapesWhatALabelHolds) {
  service::Metric metric;
  metric.name = "nutshell_x";
  metric.help = "two\nlines";
  metric.samples = {{{{"who", "a\"b\\c\nd"}}, 2.5}};
  EXPECT_EQ(metrics_text({metric}),
            "# HELP nutshell_x two\\nlines\n# TYPE nutshell_x counter\n"
            "nutshell_x{who=\"a\\\"b\\\\c\\nd\"} 2.5\n");
}

TEST(ParseJson, RefusesAnObjectOfVeryManyMembers) {
  std::string text = "{\"a\": [";
  std::string members;
  for (int i = 0; i < 200'000; ++i)
    members += (i == 0 ? "" : ",") + std::string("\"k") + std::to_string(i) + "\":1";
  const auto refused = parse_json(text + "{" + members + "}]}");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("members"), std::string::npos);
  // Many small ones are many members of none.
  for (int i = 0; i < 10'000; ++i)
    text += (i == 0 ? "" : ",") + std::string("{\"k\":1}");
  EXPECT_TRUE(parse_json(text + "]}"));
}

}  // namespace
}  // namespace nutshell::server
