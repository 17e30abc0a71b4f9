#include "tools/user_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLint = R"(
[[tool]]
name = "lint"
description = "Check files."
argv = ["ruff", "check", "--output-format={format}", "{extra}", "{paths}"]
read_only = true
[[tool.parameters]]
name = "paths"
type = "strings"
required = true
[[tool.parameters]]
name = "format"
choices = ["full", "concise"]
[[tool.parameters]]
name = "extra"
may_be_flag = true
)";

CommandTemplate lint() {
  return {{"ruff", "check", "--output-format={format}", "{extra}", "{paths}"}, {"extra"}};
}

std::vector<std::string> filled(const CommandTemplate& command, const Arguments& arguments) {
  auto result = fill_template(command, arguments);
  const auto* error = std::get_if<ToolError>(&result);
  if (error != nullptr) return {"refused: " + error->what};
  return std::get<std::vector<std::string>>(result);
}

Arguments given(std::initializer_list<std::pair<std::string, Arguments::Value>> values) {
  Arguments arguments;
  for (const auto& [name, value] : values)
    arguments.set(name, value);
  return arguments;
}

TEST(UserTools, AreReadFromAFile) {
  const auto tools = parse_user_tools(kLint, "tools.toml");
  ASSERT_TRUE(tools) << tools.error().message;
  ASSERT_EQ(tools->size(), 1U);
  EXPECT_EQ(tools->front().name, "lint");
  EXPECT_TRUE(tools->front().hints.is_read_only);
  ASSERT_EQ(tools->front().parameters.size(), 4U);  // ours, and max_tokens
  EXPECT_EQ(tools->front().parameters[0].type, Parameter::Type::StringList);
  EXPECT_EQ(tools->front().parameters[0].presence, Parameter::Presence::Required);
}

TEST(UserTools, SayWhatIsWrongInTheFile) {
  const auto message = [](const std::string& text) {
    const auto tools = parse_user_tools(text, "tools.toml");
    return tools ? std::string("accepted") : tools.error().message;
  };
  const std::string tool = "[[tool]]\nname = \"x\"\ndescription = \"d\"\n";
  EXPECT_THAT(message("[[tool]\n"), HasSubstr("tools.toml: line 1"));
  EXPECT_THAT(message(""), HasSubstr("no [[tool]]"));
  EXPECT_THAT(message("name = \"x\"\n"), HasSubstr("unknown key 'name'"));
  EXPECT_THAT(message(tool), HasSubstr("argv must be"));
  EXPECT_THAT(message(tool + "argv = []\n"), HasSubstr("program's name"));
  EXPECT_THAT(message(tool + "argv = [\"{a}\"]\n"), HasSubstr("program's name"));
  EXPECT_THAT(message(tool + "argv = [\"a\", \"{b}\"]\n"), HasSubstr("no such parameter"));
  EXPECT_THAT(message(tool + "argv = [\"a\"]\nshell = true\n"), HasSubstr("unknown key 'shell'"));
  EXPECT_THAT(message(tool + "argv = [\"a\"]\ntimeout = 0\n"), HasSubstr("1..3600"));
  EXPECT_THAT(message("[[tool]]\nname = \"No Name\"\ndescription = \"d\"\nargv = [\"a\"]\n"),
              HasSubstr("is no name"));
}

TEST(FillTemplate, PutsValuesInTheirPlaces) {
  EXPECT_THAT(filled(lint(), given({{"paths", std::vector<std::string>{"a.py", "b c.py"}},
                                    {"format", std::string("full")}})),
              ElementsAre("ruff", "check", "--output-format=full", "a.py", "b c.py"));
}

TEST(FillTemplate, LeavesOutWhatWasNotGiven) {
  EXPECT_THAT(filled(lint(), given({{"paths", std::vector<std::string>{"a"}}})),
              ElementsAre("ruff", "check", "a"));
}

TEST(FillTemplate, NeverMakesAFlagOfAValue) {
  const CommandTemplate command = {{"tool", "{path}", "{n}{path}", "x{path}"}, {}};
  for (const char* value : {"-rf", "--config=/tmp/x", "-"}) {
    EXPECT_THAT(filled(command, given({{"path", std::string(value)}})),
                ElementsAre(HasSubstr("refused")));
  }
  EXPECT_THAT(filled(lint(), given({{"paths", std::vector<std::string>{"a", "-x"}}})),
              ElementsAre(HasSubstr("refused")));
  EXPECT_THAT(filled({{"tool", "{n}"}, {}}, given({{"n", std::int64_t{-5}}})),
              ElementsAre(HasSubstr("refused")));
}

TEST(FillTemplate, TakesADashWhereThatWasDeclaredOrALiteralStandsBeforeIt) {
  EXPECT_THAT(filled(lint(), given({{"paths", std::vector<std::string>{"a"}},
                                    {"extra", std::string("--fix")}})),
              ElementsAre("ruff", "check", "--fix", "a"));
  EXPECT_THAT(filled({{"tool", "--file={path}"}, {}}, given({{"path", std::string("-rf")}})),
              ElementsAre("tool", "--file=-rf"));
}

TEST(FillTemplate, KeepsAValueInOneArgument) {
  EXPECT_THAT(filled({{"tool", "{path}"}, {}},
                     given({{"path", std::string("a; rm -rf / $(id) `id` \n {b}")}})),
              ElementsAre("tool", "a; rm -rf / $(id) `id` \n {b}"));
}

}  // namespace
}  // namespace nutshell
