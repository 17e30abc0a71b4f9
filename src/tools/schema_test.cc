// The schemas against the rules that the providers of models document for tools.
#include "tools/schema.h"

#include <gmock/gmock.h>
#include <re2/re2.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/argument_parser.h"
#include "tools/registry.h"

namespace nutshell {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Rules that a provider documents for the schema of a tool's input.
struct Rules {
  const char* provider;
  std::set<std::string> keywords;  // those it accepts
  bool closes_objects;             // additionalProperties must be false
};

const std::set<std::string> kUsualKeywords = {"type",  "properties", "required", "description",
                                              "items", "enum",       "minimum",  "maximum"};

std::vector<Rules> all_rules() {
  std::set<std::string> closed = kUsualKeywords;
  closed.insert("additionalProperties");
  return {{"OpenAI strict", closed, true},
          {"Gemini", closed, false},
          {"Anthropic", closed, false},
          {"Kimi", closed, false}};
}

// Calls `visit` for the schema and every schema in it.
void for_each_schema(const Json& schema, const std::function<void(const Json&)>& visit) {
  visit(schema);
  if (schema.contains("properties"))
    for (const auto& [name, one] : schema["properties"].items())
      for_each_schema(one, visit);
  if (schema.contains("items")) for_each_schema(schema["items"], visit);
}

void expect_kept(const Json& schema, const Rules& rules, const std::string& where) {
  for_each_schema(schema, [&](const Json& one) {
    for (const auto& [keyword, value] : one.items())
      EXPECT_TRUE(rules.keywords.contains(keyword)) << rules.provider << " " << where << keyword;
    ASSERT_TRUE(one.contains("type")) << rules.provider << " " << where << one.dump();
    EXPECT_TRUE(one["type"].is_string()) << rules.provider << " " << where;
    if (one.contains("enum")) {
      EXPECT_EQ(one["type"], "string") << rules.provider << " " << where;
      for (const Json& choice : one["enum"])
        EXPECT_TRUE(choice.is_string() && !choice.get<std::string>().empty()) << where;
    }
    EXPECT_EQ(one["type"] == "array", one.contains("items")) << rules.provider << where;
    if (one["type"] != "object") return;
    EXPECT_TRUE(!rules.closes_objects || one["additionalProperties"] == false) << where;
    for (const auto& [name, property] : one["properties"].items())
      EXPECT_TRUE(RE2::FullMatch(name, "[a-zA-Z0-9_.-]{1,64}")) << rules.provider << where << name;
    for (const Json& name : one.value("required", Json::array()))
      EXPECT_TRUE(one["properties"].contains(name.get<std::string>())) << where << name;
  });
}

TEST(Schema, KeepsTheRulesOfEveryProvider) {
  for (const Dialect dialect : {Dialect::Nutshell, Dialect::RoomKit})
    for (const Tool& tool : tool_registry())
      for (const Rules& rules : all_rules())
        expect_kept(Json::parse(input_schema(tool, dialect)), rules, tool.name + " ");
}

// Builds the arguments that a model sends under a strict mode, which makes every one required:
// values of the right type that say nothing where the model would have said nothing.
Json given_by_a_strict_mode(const Json& schema) {
  Json object = Json::object();
  std::set<std::string> required;
  for (const Json& name : schema.value("required", Json::array()))
    required.insert(name.get<std::string>());
  for (const auto& [name, one] : schema["properties"].items()) {
    if (one.contains("enum")) {
      object[name] = one["enum"][0];
    } else if (one["type"] == "string") {
      object[name] = required.contains(name) ? "x" : "";
    } else if (one["type"] == "integer") {
      object[name] = std::max<std::int64_t>(one.value("minimum", std::int64_t{1}), 1);
    } else if (one["type"] == "boolean") {
      object[name] = false;
    } else {
      object[name] = required.contains(name) ? Json::array({"status"}) : Json::array();
    }
  }
  return object;
}

TEST(Schema, TakesWhatAStrictModeMakesAModelSend) {
  for (const Tool& tool : tool_registry()) {
    const Json schema = Json::parse(input_schema(tool, Dialect::Nutshell));
    const Json object = given_by_a_strict_mode(schema);
    ASSERT_EQ(object.size(), schema["properties"].size());
    const auto parsed = check_arguments(tool, object, Dialect::Nutshell);
    const auto* error = std::get_if<ToolError>(&parsed);
    ASSERT_EQ(error, nullptr) << tool.name << " " << object.dump() << ": " << error->what;
    // An empty text says nothing, unless it is a text of any bytes.
    for (const Parameter& parameter : tool.parameters) {
      const bool is_empty = object[parameter.name] == "" || object[parameter.name] == Json::array();
      if (is_empty && !parameter.may_hold_nul) {
        EXPECT_FALSE(std::get<Arguments>(parsed).has(parameter.name))
            << tool.name << parameter.name;
      }
    }
  }
}

TEST(Schema, NamesAndDescriptionsFitWhatProvidersTake) {
  for (const char* prefix : {"", "sandbox_", "mcp__nutshell__sandbox_"}) {
    const auto tools = choose_tools({{}, false, prefix, {}});
    ASSERT_TRUE(tools);
    for (const Tool& tool : *tools) {
      EXPECT_TRUE(RE2::FullMatch(tool.name, "[a-zA-Z_][a-zA-Z0-9_-]{0,63}")) << tool.name;
      EXPECT_LE(tool.help.size(), 1024U) << tool.name;
      EXPECT_FALSE(tool.help.empty()) << tool.name;
    }
  }
}

TEST(Schema, TellsDefaultsInWords) {
  for (const Tool& tool : tool_registry()) {
    const Json schema = Json::parse(input_schema(tool, Dialect::Nutshell));
    for (const Parameter& parameter : tool.parameters) {
      if (parameter.by_default.empty()) continue;
      const Json& described = schema["properties"][parameter.name]["description"];
      const Json value = Json::parse(parameter.by_default);
      EXPECT_THAT(described.get<std::string>(),
                  HasSubstr(value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
}

TEST(Registry, DescriptionsCallOtherToolsByTheNamesOfTheCaller) {
  const auto tools = choose_tools({{}, false, "box_", {}});
  ASSERT_TRUE(tools);
  const auto bash = find_tool(*tools, "bash", "box_");
  ASSERT_TRUE(bash);
  EXPECT_THAT((*bash)->help, HasSubstr("Prefer box_read, box_grep, box_find and box_ls."));
  EXPECT_THAT((*bash)->help, HasSubstr("There is no network."));
  for (const Tool& tool : tool_registry())
    EXPECT_THAT(tool.help, Not(HasSubstr("@"))) << tool.name;
}

}  // namespace
}  // namespace nutshell
