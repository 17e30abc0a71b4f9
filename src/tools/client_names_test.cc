#include "tools/client_names.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/argument_parser.h"
#include "tools/registry.h"

namespace nutshell {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const Tool& tool_called(std::string_view name) {
  const auto& tools = tool_registry();
  return *std::find_if(tools.begin(), tools.end(),
                       [&](const Tool& tool) { return tool.name == name; });
}

const Parameter* parameter_of(const Tool& tool, std::string_view name) {
  const auto found = std::find_if(tool.parameters.begin(), tool.parameters.end(),
                                  [&](const Parameter& one) { return one.name == name; });
  return found == tool.parameters.end() ? nullptr : &*found;
}

Arguments accepted(std::string_view tool, const Json& object) {
  auto parsed = check_arguments(tool_called(tool), object, Dialect::Nutshell);
  if (const auto* error = std::get_if<ToolError>(&parsed)) {
    ADD_FAILURE() << tool << " " << object.dump() << ": " << error->what << " " << error->next;
    return {};
  }
  return std::get<Arguments>(parsed);
}

std::string refused(std::string_view tool, const Json& object) {
  const auto parsed = check_arguments(tool_called(tool), object, Dialect::Nutshell);
  const auto* error = std::get_if<ToolError>(&parsed);
  return error != nullptr ? error->what : "accepted";
}

// Fills in what the tool requires, apart from `without`.
Json required_of(const Tool& tool, std::string_view without) {
  Json object = Json::object();
  for (const Parameter& parameter : tool.parameters)
    if (parameter.presence == Parameter::Presence::Required && parameter.name != without)
      object[parameter.name] = "x";
  return object;
}

// A value that this parameter takes.
Json value_for(const Parameter* parameter) {
  if (parameter == nullptr || parameter->type == Parameter::Type::Integer) return 7;
  if (parameter->type == Parameter::Type::Boolean) return true;
  return parameter->choices.empty() ? "a" : parameter->choices.front().substr(0, 5);
}

TEST(ClientNames, EachIsAcceptedForItsParameter) {
  for (const ClientName& row : client_names()) {
    const Tool& tool = tool_called(row.tool);
    Json object = required_of(tool, row.reading == Reading::Nothing ? "" : row.parameter);
    const std::string name(row.name);
    switch (row.reading) {
      case Reading::Background:
        object[name] = true;
        EXPECT_EQ(accepted(row.tool, object).integer(row.parameter, -1), 0) << name;
        break;
      case Reading::Milliseconds:
        object[name] = 6001;
        EXPECT_EQ(accepted(row.tool, object).integer(row.parameter, -1), 7) << name;
        break;
      case Reading::Clamped:
        object[name] = 1'000'000;
        EXPECT_EQ(accepted(row.tool, object).integer(row.parameter, -1), 20'000) << name;
        break;
      case Reading::Nothing:
        object[name] = "anything";
        (void)accepted(row.tool, object);
        break;
      default:
        object[name] = value_for(parameter_of(tool, row.parameter));
        EXPECT_TRUE(accepted(row.tool, object).has(row.parameter)) << row.tool << " " << name;
    }
  }
}

TEST(ClientNames, CostNothingInTheSchemas) {
  for (const ClientName& row : client_names())
    EXPECT_EQ(parameter_of(tool_called(row.tool), row.name), nullptr) << row.tool << row.name;
}

TEST(ClientNames, ValuesOfClaudeCodeAreUnderstood) {
  const Arguments grep = accepted("grep", {{"pattern", "x"},
                                           {"output_mode", "files_with_matches"},
                                           {"-i", true},
                                           {"-n", true},
                                           {"-A", 2},
                                           {"-B", 5},
                                           {"head_limit", 3}});
  EXPECT_EQ(grep.text("mode"), "files");
  EXPECT_TRUE(grep.is_set("ignore_case"));
  EXPECT_EQ(grep.integer("context", 0), 5);
  EXPECT_EQ(grep.integer("limit", 0), 3);
  EXPECT_EQ(accepted("grep", {{"pattern", "x"}, {"output_mode", "content"}}).text("mode"), "lines");
  const Arguments bash =
      accepted("bash", {{"command", "ls"}, {"description", "Lists files"}, {"timeout", 120'000}});
  EXPECT_EQ(bash.integer("timeout", 0), 120);
  EXPECT_FALSE(accepted("bash", {{"command", "ls"}, {"run_in_background", false}}).has("wait"));
}

TEST(ClientNames, WrongValuesAreRefusedUnderTheNameThatWasGiven) {
  EXPECT_THAT(refused("grep", {{"pattern", "x"}, {"-A", "2"}}), HasSubstr("`-A` must be"));
  EXPECT_THAT(refused("grep", {{"pattern", "x"}, {"head_limit", -1}}), HasSubstr("0 or more"));
  EXPECT_THAT(refused("bash", {{"command", "x"}, {"run_in_background", 1}}),
              HasSubstr("true or false"));
  EXPECT_THAT(refused("bash", {{"command", "x"}, {"cmd", "y"}}), HasSubstr("given twice"));
  EXPECT_THAT(refused("bash", {{"command", "x"}, {"timeout", 9999}}), HasSubstr("1..3600"));
  EXPECT_THAT(refused("ls", {{"cmd", "x"}}), HasSubstr("no argument"));
}

TEST(ClientNames, AreKnownBehindAPrefix) {
  const auto tools = choose_tools({{}, false, "sandbox_", {}});
  ASSERT_TRUE(tools);
  for (const ClientName& row : client_names()) {
    const auto tool = find_tool(*tools, std::string(row.tool), "sandbox_");
    ASSERT_TRUE(tool) << row.tool;
    EXPECT_NE(find_client_name(**tool, row.name), nullptr) << row.tool << " " << row.name;
  }
}

}  // namespace
}  // namespace nutshell
