// Commands that show what a daemon answers: tables, JSON, and what they ask for.
#include <nlohmann/json.hpp>

#include "cli/commands/command_fixture.h"

namespace nutshell::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kId = "n0123456789ab";

std::string sandbox(const std::string& state = "running") {
  const nlohmann::json object = {{"id", kId},           {"state", state},
                                 {"backend", "native"}, {"labels", {{"project", "de\x1bmo"}}},
                                 {"age_ms", 61'000},    {"ttl_left_ms", 5'000}};
  return object.dump();
}

class SandboxCommands : public DaemonCommandTest {
 protected:
  SandboxCommands() { lists(sandbox()); }
  void lists(const std::string& one) {
    on("GET /v1/sandboxes", R"({"sandboxes": [)" + one + R"(], "next_cursor": null})");
  }
};

TEST_F(SandboxCommands, ListIsATableWithoutControlCharacters) {
  const Ran ran = run(add_list, {"list"});
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.output, HasSubstr("ID"));
  EXPECT_THAT(ran.output,
              HasSubstr(std::string(kId) + "  -            native   running     61 s     5 s"));
  EXPECT_THAT(ran.output, HasSubstr("project="));
  EXPECT_THAT(ran.output, Not(HasSubstr("\x1b")));
}

TEST_F(SandboxCommands, ListShowsIdsAloneOrJson) {
  EXPECT_EQ(run(add_list, {"list", "-q"}).output, std::string(kId) + "\n");
  const auto array = nlohmann::json::parse(run(add_list, {"list", "--json"}).output);
  ASSERT_THAT(array, SizeIs(1));
  EXPECT_EQ(array[0]["id"], kId);
}

TEST_F(SandboxCommands, ListSelectsByLabel) {
  EXPECT_EQ(run(add_list, {"list", "-q", "--label", "project=other"}).output, "");
  EXPECT_THAT(run(add_list, {"list", "--label", "project"}).error,
              HasSubstr("--label: 'project' is not NAME=VALUE"));
}

TEST_F(SandboxCommands, InfoShowsStateAndTimeLeft) {
  lists(sandbox("paused"));
  const Ran ran = run(add_info, {"info", "n012"});
  EXPECT_THAT(ran.output, HasSubstr("state    paused"));
  EXPECT_THAT(ran.output, HasSubstr("image    this machine's /usr"));
}

TEST_F(SandboxCommands, InfoNamesAnUnknownSandbox) {
  EXPECT_THAT(run(add_info, {"info", "nfff"}).error, HasSubstr("no sandbox 'nfff'"));
  EXPECT_THAT(run(add_info, {"info", "not an id"}).error, HasSubstr("is not a sandbox id"));
}

TEST_F(SandboxCommands, StatsWritesADashForWhatIsNotCounted) {
  on(std::string("GET /v1/sandboxes/") + kId + "/stats",
     R"({"memory_bytes": 3145728, "cpu_time_ms": 1500, "processes": 4})");
  const Ran ran = run(add_stats, {"stats", kId});
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.output, HasSubstr("3.0m         -"));
  EXPECT_THAT(ran.output, HasSubstr("1.50s"));
  const auto object = nlohmann::json::parse(run(add_stats, {"stats", kId, "--json"}).output);
  EXPECT_EQ(object["processes"], 4);
  EXPECT_TRUE(object.contains("limits"));
}

TEST_F(SandboxCommands, DestroyGoesOnAfterAFailure) {
  on(std::string("DELETE /v1/sandboxes/") + kId, "", 204);
  testing::internal::CaptureStderr();
  const Ran ran = run(add_destroy, {"destroy", "nfff", kId});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no sandbox 'nfff'"));
  EXPECT_EQ(ran.status, kOurError);
  EXPECT_EQ(requests().back().method, "DELETE");
}

TEST_F(SandboxCommands, ProblemsOfTheDaemonAreTheError) {
  on("GET /v1/sandboxes", R"({"code": "permission_denied", "detail": "the token is not known"})",
     401);
  EXPECT_EQ(run(add_list, {"list"}).error, "the token is not known");
}

TEST_F(SandboxCommands, AnAnswerOfAnotherShapeIsAnError) {
  on("GET /v1/sandboxes", "<html>");
  EXPECT_THAT(run(add_list, {"list"}).error, HasSubstr("a program that is not nutshelld listens"));
}

// Commands that talk to a sandbox's init over a stream, which the daemon cuts.
class CutCommands : public SandboxCommands {
 protected:
  std::vector<Ran> all() {
    const std::string path = std::string(kId) + ":/workspace/a";
    return {run(add_diff, {"diff", kId}),
            run(add_diff, {"diff", kId, "--stat"}),
            run(add_copy, {"cp", path, "-"}),
            run(add_copy, {"cp", "/etc/passwd", path}),
            run(add_checkpoint, {"checkpoint", kId}),
            run(add_discard, {"discard", kId})};
  }
  const std::string place_ = std::string("GET /v1/sandboxes/") + kId;
};

TEST_F(CutCommands, SayThatTheDaemonWentAway) {
  for (int i = 0; i < 2; ++i) {
    dies_with_stream();
    const Ran ran = run(add_diff, {"diff", kId});
    EXPECT_THAT(ran.error, HasSubstr("daemon"));
    EXPECT_THAT(ran.error, Not(HasSubstr("has ended")));
    if (i == 0) {
      EXPECT_THAT(ran.error, HasSubstr("may still run"));
    }
  }
}

TEST_F(CutCommands, SayThatTheSandboxStillRuns) {
  on(place_, sandbox());
  for (const Ran& ran : all()) {
    EXPECT_EQ(ran.status, -1);
    EXPECT_THAT(ran.error, HasSubstr("sandbox n0123456789ab still runs"));
  }
}

TEST_F(CutCommands, SayThatTheDaemonDoesNotTell) {
  on(place_, R"({"code": "unavailable", "detail": "the daemon is stopping"})", 503);
  for (const Ran& ran : all()) {
    EXPECT_EQ(ran.status, -1);
    EXPECT_THAT(ran.error, HasSubstr("the daemon is stopping"));
    EXPECT_THAT(ran.error, Not(HasSubstr("has ended")));
  }
}

TEST_F(CutCommands, SayThatTheSandboxHasEndedOnlyIfTheDaemonKnows) {
  for (const Ran& ran : all())
    EXPECT_THAT(ran.error, HasSubstr("the sandbox has ended"));
}

TEST_F(DaemonCommandTest, HistoryShowsCommandsWithTheirOutcome) {
  on(std::string("GET /v1/sandboxes/") + kId + "/history",
     R"({"entries": [{"who": "me", "action": "exec", "what": "{\"argv\": [\"make\", \"-j\"]}",
        "time_ms": 0, "audit_id": 7, "outcome": "exited 2", "duration_ms": 12,
        "output_bytes": 3}]})");
  EXPECT_THAT(run(add_history, {"history", kId}).output,
              HasSubstr("12.0 ms  exited 2       exec  make -j"));
  const auto line = nlohmann::json::parse(run(add_history, {"history", kId, "--json"}).output);
  EXPECT_EQ(line["command"], "make -j");
  EXPECT_EQ(line["audit_id"], 7);
}

TEST_F(DaemonCommandTest, HistoryTellsAnUnknownSandboxFromADaemonThatRefuses) {
  EXPECT_THAT(run(add_history, {"history", kId}).error, HasSubstr("no command"));
  on(std::string("GET /v1/sandboxes/") + kId + "/history",
     R"({"code": "unavailable", "detail": "the daemon is stopping"})", 503);
  EXPECT_EQ(run(add_history, {"history", kId}).error, "the daemon is stopping");
}

constexpr const char* kSession =
    R"({"name": "work", "sandbox_id": "n0123456789ab", "life": 2, "lease_left_ms": 90000,
        "usage": {"execs": 3, "cpu_time_ms": 1500}, "keeps_workspace": true,
        "labels": {"a": "b"}, "lost": null})";

TEST_F(DaemonCommandTest, SessionStartAsksForWhatTheFlagsSay) {
  on("POST /v1/sessions", kSession);
  const Ran ran = run(add_session, {"session", "start", "work", "--setup", "git init", "--lease",
                                    "1h", "--keep-workspace", "--label", "a=b", "--budget",
                                    "execs=9,cpu_time=60s", "--memory", "1g"});
  EXPECT_EQ(ran.output, std::string(kId) + "\n") << ran.error;
  const auto asked = nlohmann::json::parse(requests().back().body);
  EXPECT_EQ(asked["name"], "work");
  EXPECT_EQ(asked["setup"][0], nlohmann::json({"sh", "-c", "git init"}));
  EXPECT_EQ(asked["lease_ms"], 3'600'000);
  EXPECT_EQ(asked["labels"]["a"], "b");
  EXPECT_EQ(asked["keeps_workspace"], true);
  EXPECT_EQ(asked["budget"]["execs"], 9);
  EXPECT_EQ(asked["spec"]["limits"]["memory_bytes"], 1 << 30);
}

TEST_F(DaemonCommandTest, SessionRefusesABudgetThatItDoesNotKnow) {
  EXPECT_THAT(run(add_session, {"session", "start", "work", "--budget", "cpus=9"}).error,
              HasSubstr("--budget cpus=9: give execs=100, cpu_time=60s"));
  EXPECT_THAT(run(add_session, {"session", "start", "work", "--lease", "soon"}).error,
              HasSubstr("--lease"));
  EXPECT_THAT(requests(), testing::IsEmpty());
}

TEST_F(DaemonCommandTest, SessionListIsATable) {
  on("GET /v1/sessions",
     std::string(R"({"sessions": [)") + kSession + R"(], "next_cursor": null})");
  EXPECT_THAT(run(add_session, {"session", "list"}).output,
              HasSubstr("work                 n0123456789ab      2      90s        3      1.50s "
                        "kept   a=b"));
}

TEST_F(DaemonCommandTest, SessionEndNamesTheSessionInThePath) {
  on("DELETE /v1/sessions/a%20b", "", 204);
  (void)run(add_session, {"session", "end", "a b"});
  EXPECT_EQ(requests().back().path, "/v1/sessions/a%20b");
}

constexpr const char* kPool =
    R"({"name": "agents", "total": 4, "available": 3, "in_use": 1, "waiting": 0, "min_idle": 1,
        "max_idle": 4, "max_total": 8, "hits": 7, "misses": 2, "trouble": "no disk"})";

TEST_F(DaemonCommandTest, PoolListShowsItsTrouble) {
  on("GET /v1/pools", std::string(R"({"pools": [)") + kPool + "]}");
  EXPECT_THAT(run(add_pool, {"pool", "list"}).output, HasSubstr("no disk\n"));
}

TEST_F(DaemonCommandTest, PoolAcquireSendsOnlyWhatWasGiven) {
  on("POST /v1/pools/agents/acquire", R"({"id": "n0123456789ab"})");
  EXPECT_EQ(run(add_pool, {"pool", "acquire", "agents"}).output, std::string(kId) + "\n");
  EXPECT_EQ(requests().back().body, "{}");
  (void)run(add_pool,
            {"pool", "acquire", "agents", "--label", "job=7", "--wait", "2s", "--memory", "1g"});
  const auto asked = nlohmann::json::parse(requests().back().body);
  EXPECT_EQ(asked["labels"]["job"], "7");
  EXPECT_EQ(asked["wait_ms"], 2000);
  EXPECT_TRUE(asked.contains("limits"));
  EXPECT_FALSE(asked.contains("ttl_ms"));
}

TEST_F(CommandTest, CommandsOfTheDaemonSayThatNoneRuns) {
  const std::string error = run(add_pool, {"pool", "list"}).error;
  EXPECT_THAT(error, HasSubstr("needs the daemon"));
  EXPECT_THAT(error, HasSubstr("nutshell daemon start"));
}

}  // namespace
}  // namespace nutshell::cli
