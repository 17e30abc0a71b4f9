#include "cli/mcp_own_tools.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/json_edit.h"

namespace nutshell::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

const OwnTools& claude() {
  return own_tools_of(**find_mcp_client("claude-code"));
}

std::string denied(const std::string& text) {
  const auto made = with_own_tools_denied(claude(), text);
  EXPECT_TRUE(made) << made.error().message;
  return made.value_or("");
}

TEST(OwnTools, AreKnownForEveryClient) {
  for (const McpClient& client : mcp_clients()) {
    const OwnTools& tools = own_tools_of(client);
    EXPECT_EQ(tools.client, client.name);
    EXPECT_EQ(tools.path.empty(), tools.words.empty()) << client.name;
    EXPECT_NE(tools.what.empty(), !tools.path.empty() || !tools.by_hand.empty()) << client.name;
  }
}

TEST(OwnTools, AreDeniedAndAllowedAgain) {
  for (const char* before :
       {"", "{}", "{\n  \"model\": \"x\"\n}\n", "{\"permissions\": {}}",
        "{\"permissions\": {\"allow\": [\"Read\"]}}", "{\"permissions\": {\"deny\": []}}",
        "{\n  // mine\n  \"permissions\": {\n    \"deny\": [\n      \"WebFetch\",\n    ],\n  "
        "},\n}\n",
        "{\"permissions\": {\"deny\": [\"Edit\", \"Bash\"]}}"}) {
    const std::string after = denied(before);
    const auto parsed = parse_edited_json(after);
    ASSERT_TRUE(parsed) << after;
    const auto words = (*parsed)["permissions"]["deny"].get<std::vector<std::string>>();
    for (const std::string_view word : claude().words)
      EXPECT_EQ(std::count(words.begin(), words.end(), word), 1) << before;
    EXPECT_EQ(denied(after), after) << "twice is once";
    const std::string text(before);
    if (text.find("WebFetch") != text.npos) {
      EXPECT_EQ(words.back(), "WebFetch");
      EXPECT_THAT(after, HasSubstr("// mine"));
    }
    const auto again = with_own_tools_allowed(claude(), after);
    if (!again) continue;  // the trailing comma in the list
    const auto allowed = parse_edited_json(*again);
    ASSERT_TRUE(allowed) << *again;
    EXPECT_TRUE((*allowed)["permissions"]["deny"].empty()) << *again;
  }
}

TEST(OwnTools, StayAsTheyAreInAFileThatIsNotUnderstood) {
  for (const char* text : {"[]", "{", "{\"permissions\": 5}", "{\"permissions\": {\"deny\": 5}}"})
    EXPECT_FALSE(with_own_tools_denied(claude(), text)) << text;
}

TEST(EditedJson, MayHaveCommentsAndTrailingCommas) {
  const auto parsed = parse_edited_json(
      "// a\n{\"a\": [1, 2, /* , */ ], \"b\": \",}\", \"c\": {\"d\": 1, // e\n },\n}\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->dump(), R"({"a":[1,2],"b":",}","c":{"d":1}})");
  for (const char* wrong : {"{,}x", "{\"a\": 1,, }", "[1]", "{\"a\": \"", "{\"a\" /* "})
    EXPECT_FALSE(parse_edited_json(wrong)) << wrong;
}

}  // namespace
}  // namespace nutshell::cli
