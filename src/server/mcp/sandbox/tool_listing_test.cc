#include "server/mcp/sandbox/tool_listing.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/mcp/sandbox/tool_content.h"
#include "tools/registry.h"

namespace nutshell::mcp {
namespace {

using Json = nlohmann::json;

Json hints_of(const ToolPolicy& policy, const std::string& name) {
  const Json listing = Json::parse(tool_listing(tool_registry(), policy));
  for (const Json& tool : listing["tools"])
    if (tool["name"] == name) return tool["annotations"];
  return {};
}

TEST(ToolListing, IsTheSameBytesEveryTime) {
  EXPECT_EQ(tool_listing(tool_registry(), {}), tool_listing(tool_registry(), {}));
}

TEST(ToolListing, SaysOfToolsWhatThePolicyMakesTrue) {
  EXPECT_FALSE(hints_of({}, "bash")["destructiveHint"]);
  EXPECT_FALSE(hints_of({}, "bash")["openWorldHint"]);
  ToolPolicy open;
  open.has_network = true;
  open.is_disposable = false;
  EXPECT_TRUE(hints_of(open, "bash")["destructiveHint"]);
  EXPECT_TRUE(hints_of(open, "bash")["openWorldHint"]);
  EXPECT_FALSE(hints_of(open, "read")["destructiveHint"]);
  EXPECT_FALSE(hints_of(open, "read")["openWorldHint"]);
  EXPECT_TRUE(hints_of(open, "read")["readOnlyHint"]);
}

TEST(ToolContent, IsTextAloneUnlessMoreIsWanted) {
  ToolResult result;
  result.text = "a\nb";
  result.undo_id = "u1";
  const Json plain = Json::parse(tool_content(result, Content::Text));
  EXPECT_EQ(plain["content"][0]["text"], "a\nb");
  EXPECT_FALSE(plain["isError"]);
  EXPECT_FALSE(plain.contains("structuredContent"));
  const Json more = Json::parse(tool_content(result, Content::Structured));
  EXPECT_EQ(more["structuredContent"]["text"], "a\nb");
  EXPECT_EQ(more["structuredContent"]["undo_id"], "u1");
}

TEST(ToolContent, CarriesErrorsAndImages) {
  ToolResult result;
  result.error = ToolError{ErrorCode::PermissionDenied, "no"};
  result.image = ToolImage{"image/png", "abc"};
  const Json content = Json::parse(tool_content(result, Content::Text));
  EXPECT_TRUE(content["isError"]);
  EXPECT_EQ(content["content"][1]["data"], "YWJj");
}

}  // namespace
}  // namespace nutshell::mcp
