#include "cli/mcp_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell::cli {
namespace {

const McpCommand kCommand{"nutshell", {"mcp"}};

const McpClient& client(const std::string& name) {
  return **find_mcp_client(name);
}

std::string with(const std::string& name, const std::string& text,
                 const McpCommand& command = kCommand) {
  const auto made = with_server(client(name), text, command);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : "";
}

std::string without(const std::string& name, const std::string& text) {
  const auto made = without_server(client(name), text);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : "";
}

TEST(McpConfig, CanBeAddedAndRemovedForEveryClient) {
  for (const McpClient& one : mcp_clients()) {
    const std::string name(one.name);
    const std::string made = with(name, "");
    const auto found = server_in(one, made);
    ASSERT_TRUE(found) << name << ": " << found.error().message;
    ASSERT_TRUE(*found) << name << made;
    EXPECT_EQ((*found)->program, "nutshell");
    EXPECT_EQ((*found)->arguments.front(), "mcp");
    EXPECT_EQ(with(name, made), made) << "twice is once";
    const auto gone = server_in(one, without(name, made));
    ASSERT_TRUE(gone) << name;
    EXPECT_FALSE(*gone) << name;
  }
}

TEST(McpConfig, KeepsEveryOtherByteOfJson) {
  const std::string before =
      "{\n  // mine\n  \"theme\": \"dark\", /* \"mcpServers\": {} */\n"
      "  \"context_servers\": {\n    \"other\": {\"command\": \"x}\\\"{\"}\n  }\n}\n";
  const std::string after = with("zed", before);
  EXPECT_NE(after.find("// mine"), std::string::npos);
  EXPECT_NE(after.find("\"other\": {\"command\": \"x}\\\"{\"}"), std::string::npos);
  EXPECT_EQ(without("zed", after), before);
}

TEST(McpConfig, UnderstandsTrailingCommas) {
  const std::string before =
      "{\n  \"theme\": \"dark\",\n  \"context_servers\": {\n    \"other\": {\"command\": \"x\",},\n"
      "  },\n}\n";
  const std::string after = with("zed", before);
  EXPECT_NE(after.find("\"other\": {\"command\": \"x\",},"), std::string::npos) << after;
  EXPECT_EQ(without("zed", after), before);
  const auto found = server_in(client("zed"), after);
  ASSERT_TRUE(found && *found);
}

TEST(McpConfig, KeepsAWorkspaceThatIsGiven) {
  const auto parsed =
      nlohmann::json::parse(with("vscode", "", {"nutshell", {"mcp", "--workspace", "/srv/a"}}));
  EXPECT_EQ(parsed["servers"]["nutshell"]["args"],
            (nlohmann::json{"mcp", "--workspace", "/srv/a"}));
}

TEST(McpConfig, MakesTheObjectWhereItIsMissing) {
  for (const char* before : {"{}", "{ }\n", "{\"a\": 1}", "{\n  \"a\": [1, 2]\n}\n"}) {
    const std::string after = with("claude-code", before);
    const auto parsed = nlohmann::json::parse(after);
    EXPECT_EQ(parsed["mcpServers"]["nutshell"]["command"], "nutshell") << after;
    EXPECT_EQ(parsed.contains("a"), nlohmann::json::parse(before).contains("a"));
  }
}

TEST(McpConfig, ReplacesAnOlderEntry) {
  const std::string first = with("claude-code", R"({"mcpServers":{"a":{"command":"b"}}})");
  const std::string second = with("claude-code", first, {"nutshell", {"mcp", "--multi"}});
  const auto parsed = nlohmann::json::parse(second);
  EXPECT_EQ(parsed["mcpServers"]["nutshell"]["args"][1], "--multi");
  EXPECT_EQ(parsed["mcpServers"]["a"]["command"], "b");
  EXPECT_EQ(parsed["mcpServers"].size(), 2U);
}

TEST(McpConfig, TouchesNothingItDoesNotUnderstand) {
  for (const char* text : {"[1]", "{", "{\"mcpServers\": 5}", "{\"mcpServers\": [1]}", "null", "x",
                           "{\"mcpServers\":{\"nutshell\":7}}"})
    EXPECT_FALSE(with_server(client("claude-code"), text, kCommand)) << text;
  EXPECT_FALSE(with_server(client("goose"), "extensions: {a: 1}\n", kCommand));
}

TEST(McpConfig, KeepsOtherTablesOfToml) {
  const std::string before = "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n";
  const std::string after = with("codex", before);
  EXPECT_TRUE(after.starts_with(before)) << after;
  EXPECT_EQ(without("codex", after), before);
  const std::string between = after + "[tail]\nz = 1\n";
  EXPECT_EQ(without("codex", between), before + "\n[tail]\nz = 1\n");
}

TEST(McpConfig, KeepsOtherExtensionsOfYaml) {
  const std::string before =
      "GOOSE_MODEL: x\nextensions:\n    developer:\n        enabled: true\nlast: 1\n";
  const std::string after = with("goose", before);
  EXPECT_NE(after.find("\n    nutshell:\n"), std::string::npos) << after;
  EXPECT_EQ(without("goose", after), before);
}

TEST(McpConfig, NamesThePlaceOfTheProjectWhereTheClientHasAWordForIt) {
  const auto parsed = nlohmann::json::parse(with("vscode", ""));
  EXPECT_EQ(parsed["servers"]["nutshell"]["args"],
            (nlohmann::json{"mcp", "--workspace", "${workspaceFolder}"}));
}

TEST(FindJsonMember, IsNotFooledByTextsAndComments) {
  const std::string_view text = R"({"x": "\"a\": {", // "a": {"b": 0}
    "n": {"a": {"b": 1}}, "a": {"b": [1, "}"], "c": 2}})";
  const auto place = find_json_member(text, {"a", "b"});
  ASSERT_TRUE(place);
  EXPECT_EQ(text.substr(place->value, place->end - place->value), "[1, \"}\"]");
  EXPECT_FALSE(find_json_member(text, {"a", "x"}));
  EXPECT_FALSE(find_json_member("{\"a\"", {"a"}));
  EXPECT_FALSE(find_json_member("{\"a\": \"x", {"a"}));
}

}  // namespace
}  // namespace nutshell::cli
