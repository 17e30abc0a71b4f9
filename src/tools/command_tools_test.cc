// bash, git, job and recall: what they run, and what a model reads of it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tools/built_in.h"
#include "tools/tool_fixture.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

ExecResult exited(int code) {
  ExecResult result;
  result.outcome = Outcome::Exited;
  result.exit_code = code;
  result.duration = 1200ms;
  return result;
}

wire::FileInfo program() {
  wire::FileInfo info;
  info.kind = wire::FileKind::Regular;
  return info;
}

class BashTool : public ToolTest {
 protected:
  BashTool() {
    commands.state.ending = exited(0);
    commands.state.output = "out\n";
  }
  void has_bash() { init.answer(program()); }
  const Tool tool = make_bash_tool();
};

TEST_F(BashTool, RunsTheCommandInAShell) {
  has_bash();
  EXPECT_EQ(text(tool, R"({"command": "make", "cwd": "src", "timeout": 7, "wait": 3})"), "out");
  ASSERT_EQ(commands.requests.size(), 1U);
  const CommandRequest& request = commands.requests.front();
  EXPECT_THAT(request.argv, ElementsAre("/bin/bash", "-c", "make"));
  EXPECT_EQ(request.working_directory, "src");
  EXPECT_EQ(request.timeout, 7s);
  EXPECT_EQ(request.wait, 3s);
}

TEST_F(BashTool, FallsBackToShWithoutBash) {
  const wire::Failed missing{ErrorCode::NotFound, "no such file"};
  init.answer(missing);
  init.answer(missing);
  (void)call(tool, R"({"command": "true"})");
  EXPECT_EQ(commands.requests.front().argv.front(), "sh");
}

TEST_F(BashTool, WaitsForItsTimeoutForRoomKit) {
  context.dialect = Dialect::RoomKit;
  has_bash();
  (void)call(tool, R"({"command": "true"})");
  EXPECT_EQ(commands.requests.front().timeout, 30s);
  EXPECT_EQ(commands.requests.front().wait, 30s);
}

TEST_F(BashTool, TellsWhichFilesChanged) {
  has_bash();
  commands.state.changed.total_changes = 2;
  commands.state.changed.undo_id = "u9";
  const ToolResult result = call(tool, R"({"command": "touch a b"})");
  EXPECT_EQ(result.text, "out\nchanged 2 files, undo u9");
  EXPECT_EQ(result.undo_id, "u9");
}

TEST_F(BashTool, SaysWhatToDoAboutATimeout) {
  has_bash();
  commands.state.ending->outcome = Outcome::TimedOut;
  commands.state.ending->detail = "after 7s";
  const ToolResult result = call(tool, R"({"command": "sleep 9"})");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code, ErrorCode::DeadlineExceeded);
  EXPECT_THAT(result.text, HasSubstr("Use wait=0 or a larger timeout."));
}

TEST_F(BashTool, TellsWhichConnectionsWereRefused) {
  has_bash();
  commands.state.ending->refused_connections = {"a.org:443 is not allowed; allowed are pypi"};
  EXPECT_THAT(text(tool, R"({"command": "curl a.org"})"),
              HasSubstr("(1 connection refused: a.org:443 is not allowed; allowed are pypi."));
}

TEST_F(BashTool, ShowsTheEndOfACommandThatStillRuns) {
  has_bash();
  commands.state.ending.reset();
  commands.state.job_id = "j4";
  commands.state.output_id = "o1";
  commands.state.age = 30s;
  commands.state.total_lines = 212;
  commands.state.output.clear();
  for (int i = 1; i <= 50; ++i)
    commands.state.output += "line " + std::to_string(i) + "\n";
  const ToolResult result = call(tool, R"({"command": "make"})");
  EXPECT_THAT(result.text, testing::StartsWith(
                               "running, 30s so far. job j4, 212 lines so far. last:\nline 11\n"));
  EXPECT_THAT(result.text, HasSubstr("line 50\n(10 more lines: recall o1)"));
  EXPECT_THAT(result.text, HasSubstr("(job j4 to continue; stop with job j4 stop=true)"));
  EXPECT_EQ(result.job_id, "j4");
}

TEST_F(BashTool, DoesNotRepeatALongOutput) {
  has_bash();
  commands.state.output = std::string(4000, 'x');
  commands.state.output_id = "o2";
  commands.state.total_lines = 1;
  outputs.before = "o1";
  EXPECT_EQ(text(tool, R"({"command": "make"})"),
            "exit 0, 1.2s. output unchanged since o1 (1 line; recall o1 shows it)");
}

TEST_F(BashTool, SaysHowManyBytesAreGone) {
  has_bash();
  commands.state.missing_bytes = 77;
  EXPECT_THAT(text(tool, R"({"command": "yes"})"), HasSubstr("(77 bytes in between are gone"));
}

TEST_F(BashTool, ShowsTheRawOutputOnRequest) {
  has_bash();
  EXPECT_EQ(call(tool, R"({"command": "make", "raw": true})").parser, "raw");
}

TEST_F(BashTool, GivesProgramsTheOutcome) {
  has_bash();
  commands.state.ending = exited(3);
  const auto fields = nlohmann::json::parse(call(tool, R"({"command": "x"})").fields_json);
  EXPECT_EQ(fields["outcome"], "exited");
  EXPECT_EQ(fields["exit_code"], 3);
  EXPECT_EQ(fields["duration_ms"], 1200);
}

TEST_F(ToolTest, JobPassesInputOnAndStops) {
  commands.state.job_id = "j4";
  commands.state.ending = exited(0);
  commands.state.output = "bye\n";
  EXPECT_EQ(text(make_job_tool(), R"({"id": "j4", "input": "q\n", "stop": true, "wait": 2})"),
            "exit 0, 1.2s\nbye");
  ASSERT_EQ(commands.looks.size(), 1U);
  EXPECT_EQ(commands.looks.front().input, "q\n");
  EXPECT_TRUE(commands.looks.front().stops);
  EXPECT_EQ(commands.looks.front().wait, 2s);
}

TEST_F(ToolTest, JobNamesTheJobsThereAre) {
  commands.state.job_id = "j4";
  EXPECT_EQ(text(make_job_tool(), R"({"id": "j9"})"),
            "not_found: there is no job j9.\nJobs: j4.\nStart one with bash and a short wait.");
}

class GitTool : public ToolTest {
 protected:
  GitTool() {
    commands.state.ending = exited(0);
    commands.state.output = "clean\n";
  }
  // The answer to the question for the names of all settings.
  void has_settings(const std::string& names, int exit_code = 0) {
    wire::Ended ended;
    ended.result.outcome = Outcome::Exited;
    ended.result.exit_code = exit_code;
    ended.result.stdout_bytes = names.size();
    if (names.empty()) {
      init.answer(ended);
    } else {
      init.answer(wire::Output{wire::Stream::Output, 0, names}, ended);
    }
  }
  const Tool tool = make_git_tool();
};

TEST_F(GitTool, RunsGitOnceTheConfigurationIsHarmless) {
  has_settings(std::string("core.bare\0", 10));
  EXPECT_EQ(text(tool, R"({"args": ["status", "-s"], "cwd": "repo"})"), "clean");
  ASSERT_EQ(commands.requests.size(), 1U);
  EXPECT_EQ(commands.requests.front().working_directory, "repo");
  EXPECT_EQ(commands.requests.front().shown, "git status -s");
  EXPECT_TRUE(commands.requests.front().reads_only);
}

TEST_F(GitTool, RefusesAnEmptyList) {
  EXPECT_THAT(text(tool, R"({"args": []})"), HasSubstr("invalid_argument: `args` is empty."));
  EXPECT_TRUE(commands.requests.empty());
}

TEST_F(GitTool, ChangesNothingInAReadOnlySession) {
  context.reads_only = true;
  EXPECT_THAT(
      text(tool, R"({"args": ["commit", "-m", "x"]})"),
      HasSubstr("permission_denied: git commit is not one of the subcommands that only read."));
  EXPECT_TRUE(commands.requests.empty());
}

TEST_F(GitTool, SaysThatThereIsNoGit) {
  has_settings("", 127);
  EXPECT_THAT(text(tool, R"({"args": ["status"]})"), HasSubstr("there is no git in this sandbox."));
}

TEST_F(GitTool, SaysThatTheConfigurationCannotBeRead) {
  has_settings("", 128);
  EXPECT_THAT(text(tool, R"({"args": ["status"]})"),
              HasSubstr("git cannot read the configuration that applies here."));
}

class RecallTool : public ToolTest {
 protected:
  RecallTool() {
    outputs.stored.output.append("one\ntwo\nthree\n");
    outputs.stored.error.append("oops\n");
  }
  const Tool tool = make_recall_tool();
};

TEST_F(RecallTool, ShowsBothStreams) {
  EXPECT_EQ(text(tool, R"({"id": "o1"})"), "o1 1-4/4\none\ntwo\nthree\noops");
  EXPECT_EQ(text(tool, R"({"id": "o1", "stream": "stderr"})"), "o1 1-1/1\noops");
}

TEST_F(RecallTool, Pages) {
  EXPECT_EQ(text(tool, R"({"id": "o1", "offset": 2, "limit": 1})"),
            "o1 2-2/4\ntwo\nnext: offset=3");
  EXPECT_THAT(text(tool, R"({"id": "o1", "offset": 9})"),
              HasSubstr("`offset` 9 is behind the end: o1 has 4 lines."));
}

TEST_F(RecallTool, Filters) {
  EXPECT_EQ(text(tool, R"({"id": "o1", "grep": "^t"})"), "o1 2 of 4 lines match\n2:two\n3:three");
  EXPECT_THAT(text(tool, R"({"id": "o1", "grep": "("})"), HasSubstr("`grep` is no pattern"));
}

class RecallOfJson : public ToolTest {
 protected:
  RecallOfJson() { outputs.stored.output.append(R"({"items": [{"n": 1}, {"n": 2}, {"n": 3}]})"); }
  const Tool tool = make_recall_tool();
};

TEST_F(RecallOfJson, ShowsRowsAtAPointer) {
  EXPECT_EQ(text(tool, R"({"id": "o1", "pointer": "/items", "rows": "0-1"})"),
            "o1 /items rows 0-1 of 3\n[0] {\"n\":1}\n[1] {\"n\":2}\nnext: rows=2-2");
  EXPECT_EQ(text(tool, R"({"id": "o1", "pointer": "/items/2/n"})"), "o1 /items/2/n\n3");
}

TEST_F(RecallOfJson, SaysWhatIsWrong) {
  EXPECT_THAT(text(tool, R"({"id": "o1", "pointer": "/items/9"})"),
              HasSubstr("Nothing is at `pointer` /items/9."));
  EXPECT_THAT(text(tool, R"({"id": "o1", "rows": "x"})"), HasSubstr("`rows` is no range"));
  EXPECT_THAT(text(tool, R"({"id": "o1", "rows": "1", "grep": "n"})"),
              HasSubstr("Leave out one of them"));
}

TEST_F(RecallTool, SaysThatAnOutputIsNotStored) {
  const ToolResult result = call(tool, R"({"id": "o9"})");
  EXPECT_EQ(result.error->code, ErrorCode::Expired);
  EXPECT_THAT(result.text, HasSubstr("o9 is not stored.\nUnknown output id o9"));
}

class DiffTool : public ToolTest {
 protected:
  void has_file(const std::string& bytes) {
    init.answer(wire::FileInfo{}, wire::FileData{bytes}, wire::Done{});
  }
  void fails(ErrorCode code, const std::string& message) {
    init.answer(wire::Failed{code, message});
  }
  const Tool tool = make_diff_tool();
};

TEST_F(DiffTool, ComparesTwoFiles) {
  has_file("a\nb\n");
  has_file("a\nc\n");
  EXPECT_EQ(text(tool, R"({"a": "x", "b": "y"})"), "x y +1 -1\n@@ -1,2 +1,2 @@\n a\n-b\n+c");
}

TEST_F(DiffTool, ComparesAFileWithItsEarlierState) {
  has_file("a\n");
  has_file("a\n");
  EXPECT_EQ(text(tool, R"({"a": "x"})"), "x since its last change: no difference");
  EXPECT_EQ(init.asked<wire::ReadFile>().state, wire::FileState::BeforeLastChange);
  EXPECT_EQ(init.asked<wire::ReadFile>().state, wire::FileState::Now);
}

TEST_F(DiffTool, TakesAFileThatWasNotThereForEmpty) {
  fails(ErrorCode::NotFound, "no such file");
  has_file("a\n");
  EXPECT_THAT(text(tool, R"({"a": "x"})"), HasSubstr("x since its last change +1 -0"));
}

TEST_F(DiffTool, SaysWhyThereIsNothingToCompare) {
  fails(ErrorCode::NotFound, "no such file");
  EXPECT_THAT(text(tool, R"({"a": "x", "b": "y"})"), HasSubstr("not_found: x is not there."));
  has_file(std::string("a\0b", 3));
  EXPECT_THAT(text(tool, R"({"a": "x", "b": "y"})"), HasSubstr("binary: x is binary."));
  fails(ErrorCode::PermissionDenied, "x: permission denied");
  EXPECT_EQ(call(tool, R"({"a": "x", "b": "y"})").error->code, ErrorCode::PermissionDenied);
}

}  // namespace
}  // namespace nutshell
