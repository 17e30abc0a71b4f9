#include "tools/argument_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/built_in.h"
#include "tools/registry.h"

namespace nutshell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::variant<Arguments, ToolError> parse(const Tool& tool, std::string_view json,
                                         Dialect dialect = Dialect::Nutshell) {
  return parse_arguments(tool, json, dialect);
}

Arguments accepted(const Tool& tool, std::string_view json, Dialect dialect = Dialect::Nutshell) {
  auto parsed = parse(tool, json, dialect);
  if (const auto* error = std::get_if<ToolError>(&parsed)) {
    ADD_FAILURE() << json << ": " << error->what;
    return {};
  }
  return std::get<Arguments>(parsed);
}

std::string refused(const Tool& tool, std::string_view json, Dialect dialect = Dialect::Nutshell) {
  const auto parsed = parse(tool, json, dialect);
  const auto* error = std::get_if<ToolError>(&parsed);
  if (error == nullptr) return "accepted";
  EXPECT_EQ(error->code, ErrorCode::InvalidArgument);
  return error->what + " " + error->why + " " + error->next;
}

TEST(ParseArguments, TakesWhatTheParametersSay) {
  const Arguments read = accepted(make_read_tool(), R"({"path": "a.c", "offset": 7})");
  EXPECT_EQ(read.text("path"), "a.c");
  EXPECT_EQ(read.integer("offset", 1), 7);
  EXPECT_EQ(read.integer("limit", 99), 99);
  const Arguments edit =
      accepted(make_edit_tool(), R"({"path":"a","edits":[{"old":"x","new":"y","all":true}]})");
  ASSERT_EQ(edit.objects("edits").size(), 1U);
  EXPECT_TRUE(edit.objects("edits")[0].is_set("all"));
}

TEST(ParseArguments, TakesAWholeNumberInEveryForm) {
  const Tool read = make_read_tool();
  for (const char* number : {"7", "7.0", "7e0", "0.7e1"}) {
    const std::string json = R"({"path": "a.c", "offset": )" + std::string(number) + "}";
    EXPECT_EQ(accepted(read, json).integer("offset", 1), 7) << number;
  }
  for (const char* number : {"7.5", "1e300", "\"7\"x"})
    EXPECT_NE(refused(read, R"({"path": "a.c", "offset": )" + std::string(number) + "}"),
              "accepted");
}

TEST(ParseArguments, RefusesWhatIsNoObject) {
  const Tool tool = make_read_tool();
  for (const char* json : {"", "[]", "1", "\"path\"", "{", "{\"path\": }", "{\"path\": \"a\"} x",
                           "null", "{\"path\": \"\xff\"}"}) {
    EXPECT_NE(refused(tool, json), "accepted") << json;
  }
}

TEST(ParseArguments, RefusesAKeyThatIsGivenTwice) {
  EXPECT_THAT(refused(make_read_tool(), R"({"path": "a", "path": "b"})"), HasSubstr("given twice"));
  EXPECT_THAT(refused(make_edit_tool(), R"({"path": "a", "old": "b", "old_string": "c"})"),
              HasSubstr("given twice"));
  EXPECT_THAT(refused(make_edit_tool(), R"({"path":"a","edits":[{"old":"b","old":"c","new":""}]})"),
              HasSubstr("given twice"));
}

TEST(ParseArguments, RefusesWrongTypes) {
  const Tool tool = make_read_tool();
  EXPECT_THAT(refused(tool, R"({"path": 1})"), HasSubstr("`path` must be a string, got 1."));
  EXPECT_THAT(refused(tool, R"({"path": ["a"]})"), HasSubstr("must be a string"));
  EXPECT_THAT(refused(tool, R"({"path": "a", "offset": "7"})"), HasSubstr("whole number"));
  EXPECT_THAT(refused(tool, R"({"path": "a", "offset": 7.5})"), HasSubstr("whole number"));
  EXPECT_THAT(refused(tool, R"({"path": "a", "offset": true})"), HasSubstr("whole number"));
  EXPECT_THAT(refused(tool, R"({"path": "a", "offset": 18446744073709551615})"),
              HasSubstr("whole number"));
  EXPECT_THAT(refused(make_ls_tool(), R"({"all": "yes"})"), HasSubstr("true or false"));
  EXPECT_THAT(refused(make_git_tool(), R"({"args": ["log", 1]})"), HasSubstr("list of strings"));
  EXPECT_THAT(refused(make_edit_tool(), R"({"path": "a", "edits": [1]})"),
              HasSubstr("list of objects"));
}

TEST(ParseArguments, RefusesNumbersOutOfRange) {
  EXPECT_THAT(refused(make_read_tool(), R"({"path": "a", "max_tokens": 50})"),
              HasSubstr("`max_tokens` must be 200..20000, got 50."));
  EXPECT_THAT(refused(make_read_tool(), R"({"path": "a", "offset": 0})"), HasSubstr("1 or more"));
  EXPECT_THAT(refused(make_bash_tool(), R"({"command": "x", "timeout": 3601})"),
              HasSubstr("1..3600"));
}

TEST(ParseArguments, RefusesNulWhereItWouldEndAName) {
  EXPECT_THAT(refused(make_read_tool(), R"({"path": "a\u0000b"})"), HasSubstr("NUL"));
  EXPECT_THAT(refused(make_bash_tool(), R"({"command": "a\u0000b"})"), HasSubstr("NUL"));
  EXPECT_THAT(refused(make_git_tool(), R"({"args": ["a\u0000b"]})"), HasSubstr("NUL"));
  const Arguments write = accepted(make_write_tool(), R"({"path": "a", "content": "x\u0000y"})");
  EXPECT_EQ(write.text("content").size(), 3U);
}

TEST(ParseArguments, SuggestsTheNameThatWasMeant) {
  EXPECT_THAT(refused(make_read_tool(), R"({"pth": "a"})"), HasSubstr("Did you mean `path`?"));
  EXPECT_THAT(refused(make_bash_tool(), R"({"command": "a", "wrkdir": "b"})"),
              HasSubstr("There are: command (required), cwd"));
}

TEST(ParseArguments, SaysWhatIsMissing) {
  EXPECT_THAT(refused(make_write_tool(), R"({"path": "a"})"), HasSubstr("`content` is missing."));
  EXPECT_THAT(refused(make_edit_tool(), R"({"path": "a", "edits": [{"old": "x"}]})"),
              HasSubstr("edits[0]: `new` is missing."));
}

TEST(ParseArguments, TakesNullForNotGiven) {
  EXPECT_FALSE(accepted(make_read_tool(), R"({"path": "a", "limit": null})").has("limit"));
  EXPECT_THAT(refused(make_read_tool(), R"({"path": null})"), HasSubstr("missing"));
}

TEST(ParseArguments, TakesRoomKitsNamesInEveryDialect) {
  for (const Dialect dialect : {Dialect::Nutshell, Dialect::RoomKit}) {
    const Arguments edit = accepted(
        make_edit_tool(), R"({"path": "a", "old_string": "b", "new_string": "c"})", dialect);
    EXPECT_EQ(edit.text("old"), "b");
    EXPECT_EQ(edit.text("new"), "c");
    const Arguments diff = accepted(make_diff_tool(), R"({"file_a": "x", "file_b": "y"})", dialect);
    EXPECT_EQ(diff.text("a") + diff.text("b"), "xy");
    const Arguments find =
        accepted(make_find_tool(), R"({"path": ".", "name": "*.c", "type": "f"})", dialect);
    EXPECT_EQ(find.text("glob"), "*.c");
    EXPECT_EQ(find.text("type"), "file");
    const Arguments git = accepted(make_git_tool(), R"({"args": "log -n 1 'a b'"})", dialect);
    EXPECT_THAT(git.texts("args"), ElementsAre("log", "-n", "1", "a b"));
  }
}

TEST(ParseArguments, CountsLinesFromZeroInRoomKitsDialectAlone) {
  const Tool tool = make_read_tool();
  EXPECT_EQ(accepted(tool, R"({"path": "a", "offset": 1})").integer("offset", 0), 1);
  EXPECT_EQ(accepted(tool, R"({"path": "a", "offset": 0})", Dialect::RoomKit).integer("offset", 0),
            1);
  EXPECT_THAT(refused(tool, R"({"path": "a", "offset": -1})", Dialect::RoomKit),
              HasSubstr("0 or more"));
}

TEST(ParseArguments, RefusesAQuoteThatIsNotClosed) {
  EXPECT_THAT(refused(make_git_tool(), R"({"args": "log 'x"})"), HasSubstr("not closed"));
}

TEST(ParseArguments, RefusesDeepNesting) {
  const std::string deep = "{\"path\": " + std::string(1000, '[') + std::string(1000, ']') + "}";
  EXPECT_NE(refused(make_read_tool(), deep), "accepted");
}

TEST(ParseArguments, ShowsOnlyTheBeginningOfALongWrongValue) {
  const std::string json = "{\"path\": [\"" + std::string(100'000, 'x') + "\"]}";
  EXPECT_LT(refused(make_read_tool(), json).size(), 200U);
}

}  // namespace
}  // namespace nutshell
