// Commands that need no sandbox, and what the others refuse before they ask for one.
#include <nlohmann/json.hpp>

#include "audit/log.h"
#include "cli/commands/command_fixture.h"

namespace nutshell::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(CommandTest, CpRefusesTwoPlacesHereOrTwoInSandboxes) {
  EXPECT_THAT(run(add_copy, {"cp", "a", "./b"}).error,
              HasSubstr("exactly one of SOURCE and TARGET must be in a sandbox"));
  EXPECT_THAT(run(add_copy, {"cp", "n0:/a", "n1:/b"}).error,
              HasSubstr("exactly one of SOURCE and TARGET must be in a sandbox"));
}

TEST_F(CommandTest, CpTakesARelativePathInside) {
  EXPECT_THAT(run(add_copy, {"cp", "a", "n0123456789ab:b"}).error,
              HasSubstr("no sandbox 'n0123456789ab'"));
}

TEST_F(CommandTest, CpTakesAColonBehindASlashForAFileName) {
  EXPECT_THAT(run(add_copy, {"cp", "./a:b", "c"}).error,
              HasSubstr("exactly one of SOURCE and TARGET must be in a sandbox"));
}

TEST_F(CommandTest, BatchRefusesALineThatIsNoListOfWords) {
  EXPECT_THAT(run(add_batch, {"batch", write("jobs", "true\n\n[\"a\", 1]\n")}).error,
              HasSubstr("line 3 is not a JSON list of strings"));
}

TEST_F(CommandTest, BatchRefusesWhatManyCommandsCannotShare) {
  const std::string jobs = write("jobs", "true\n");
  EXPECT_THAT(run(add_batch, {"batch", "-i", jobs}).error, HasSubstr("not expected: -i"));
  EXPECT_THAT(run(add_batch, {"batch", "--stdin", jobs}).error,
              HasSubstr("batch --stdin FILE... -- COMMAND"));
  EXPECT_THAT(run(add_batch, {"batch", jobs, jobs}).error,
              HasSubstr("nutshell batch FILE... -- COMMAND {}"));
  EXPECT_THAT(run(add_batch, {"batch", "/nowhere"}, {"cat", "{}"}).error, HasSubstr("/nowhere"));
  EXPECT_THAT(run(add_batch, {"batch", "-j", "0", jobs}).error, Not(testing::IsEmpty()));
  EXPECT_THAT(run(add_batch, {"batch", "--memory", "lots", jobs}).error, HasSubstr("--memory"));
}

TEST_F(CommandTest, DiffRefusesTwoFormsAtOnce) {
  EXPECT_THAT(run(add_diff, {"diff", "n0123456789ab", "--patch", "--json"}).error,
              HasSubstr("excludes"));
}

TEST_F(CommandTest, VersionIsPrintedForPeopleAndPrograms) {
  EXPECT_THAT(run(add_version, {"version"}).output, StartsWith("nutshell "));
  const auto object = nlohmann::json::parse(run(add_version, {"version", "--json"}).output);
  EXPECT_TRUE(object["version"].is_string());
  EXPECT_TRUE(object["wire"].is_number());
}

TEST_F(CommandTest, SchemaListsTheNouns) {
  const auto schema = nlohmann::json::parse(run(add_schema, {"schema"}).output);
  EXPECT_THAT(schema["nouns"].dump(), HasSubstr("\"Limits\""));
}

void add_described(const CommandLine& app, Program& program) {
  (void)app.add_command("stats", "A sandbox's use");
  add_completion(app, program);
}

TEST_F(CommandTest, CompletionQuotesHelpTextsAndNamesSandboxes) {
  const std::string script = run(add_described, {"completion", "fish"}).output;
  EXPECT_THAT(script, HasSubstr(R"(-a stats -d 'A sandbox\'s use')"));
  EXPECT_THAT(script, HasSubstr("'__fish_seen_subcommand_from stats' -a '(nutshell list -q)'"));
  EXPECT_THAT(run(add_described, {"completion", "tcsh"}).error,
              HasSubstr("no completion for 'tcsh'"));
}

class AuditCommand : public CommandTest {
 protected:
  AuditCommand() {
    audit::AuditOptions options;
    options.directory = scratch_ / "audit";
    auto log = audit::Log::open(options, [](std::string_view) {});
    EXPECT_TRUE(log) << log.error().message;
    audit::Entry entry;
    entry.tenant = "local";
    entry.sandbox = "n0123456789ab";
    entry.action = "exec";
    entry.outcome = "begun";
    entry.arguments = R"({"argv":["make"]})";
    EXPECT_TRUE((*log)->append(entry));
    entry.of = 1;
    entry.outcome = "exited 0";
    EXPECT_TRUE((*log)->append(entry));
    entry.of = 0;
    entry.action =
        "cre\x1b"
        "ate";
    EXPECT_TRUE((*log)->append(entry));
    EXPECT_TRUE((*log)->sync());
  }
  Ran audit(std::vector<std::string> words) {
    words.insert(words.begin(), "audit");
    words.insert(words.end(), {"--directory", (scratch_ / "audit").native()});
    return run(add_audit, words);
  }
};

TEST_F(AuditCommand, ShowPrintsOneSafeLineForEachRecord) {
  const Ran ran = audit({"show"});
  EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 3) << ran.output << ran.error;
  EXPECT_THAT(ran.output, HasSubstr("exited 0"));
  EXPECT_THAT(ran.output, Not(HasSubstr("\x1b")));
}

TEST_F(AuditCommand, ShowFilters) {
  EXPECT_THAT(audit({"show", "--action", "exec"}).output, HasSubstr("make"));
  EXPECT_EQ(audit({"show", "--sandbox", "nffffffffffff"}).output, "");
  EXPECT_EQ(audit({"show", "--until", "1"}).output, "");
  EXPECT_THAT(audit({"show", "--since", "2h"}).output, HasSubstr("make"));
}

TEST_F(AuditCommand, RefusesATimeThatIsNone) {
  for (const char* time : {"soon", "-3s", "2w", "3 h"}) {
    EXPECT_THAT(audit({"show", std::string("--since=") + time}).error, HasSubstr("is not a time"))
        << time;
  }
}

TEST_F(AuditCommand, VerifyPrintsAMarkThatALaterVerifyChecks) {
  const Ran ran = audit({"verify"});
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.output, HasSubstr("intact: 3 records, 1 to 3"));
  const std::size_t colon = ran.output.rfind(": ");
  std::string mark = ran.output.substr(colon + 2);
  mark.pop_back();
  EXPECT_EQ(audit({"verify", "--expect", mark}).status, 0);
  mark.back() = mark.back() == '0' ? '1' : '0';
  const Ran other = audit({"verify", "--expect", mark});
  EXPECT_EQ(other.status, 1) << other.error;
  EXPECT_THAT(other.output, HasSubstr("not intact"));
  EXPECT_THAT(audit({"verify", "--expect", "12"}).error, HasSubstr("is not a mark: give ID:HASH"));
}

TEST_F(AuditCommand, ExportPrintsOcsfEvents) {
  const Ran ran = audit({"export", "--action", "exec"});
  const auto first = nlohmann::json::parse(ran.output.substr(0, ran.output.find('\n')));
  EXPECT_TRUE(first.contains("class_uid")) << ran.output;
}

TEST_F(AuditCommand, HistoryJoinsBeginningAndEnd) {
  const Ran ran = run(add_history, {"history", "n0123456789ab", "--json", "--directory",
                                    (scratch_ / "audit").native()});
  const auto line = nlohmann::json::parse(ran.output);
  EXPECT_EQ(line["command"], "make");
  EXPECT_EQ(line["outcome"], "exited 0");
  EXPECT_THAT(
      run(add_history, {"history", "nffffffffffff", "--directory", (scratch_ / "audit").native()})
          .error,
      HasSubstr("no command"));
}

}  // namespace
}  // namespace nutshell::cli
