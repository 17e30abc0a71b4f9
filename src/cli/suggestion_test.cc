#include "cli/suggestion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace nutshell::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Suggestion, NamesTheOptionThatWasMeant) {
  CLI::App app;
  CLI::App* run = app.add_subcommand("run");
  std::string memory;
  run->add_option("--memory", memory);
  EXPECT_THAT(unknown_option(*run, "--memroy=1g"),
              HasSubstr("unknown option '--memroy': did you mean --memory?"));
  EXPECT_THAT(unknown_option(*run, "--zzzz"), Not(HasSubstr("did you mean")));
}

TEST(Suggestion, SaysWhatTakesThePlaceOfDockersOptions) {
  CLI::App app;
  CLI::App* run = app.add_subcommand("run");
  std::string memory;
  run->add_option("--memory", memory);
  for (const auto& [option, hint] : std::vector<std::pair<const char*, const char*>>{
           {"-v", "--workspace DIR"},
           {"--volume=/a:/b", "--unsafe-mount"},
           {"--rm", "always ends with its command"},
           {"-p", "nutshell forward ID PORT"},
           {"--env-file=x", "-e NAME=VALUE"},
           {"--user", "sandbox's own user"},
           {"--network=host", "--allow HOST"},
           {"--pids-limit", "did you mean --processes?"},
           {"-m", "did you mean --memory?"}})
    EXPECT_THAT(unknown_option(*run, option), HasSubstr(hint)) << option;
  EXPECT_THAT(unknown_option(*run, "-"), Not(HasSubstr(": ")));
}

TEST(Suggestion, NamesTheCommandThatWasMeantOrHowToRunAProgram) {
  CLI::App app;
  app.add_subcommand("destroy");
  EXPECT_THAT(unknown_command(app, "destory"), HasSubstr("did you mean 'destroy'?"));
  EXPECT_THAT(unknown_command(app, "python3"), HasSubstr("nutshell run -- python3"));
  for (const auto& [word, meant] :
       std::vector<std::pair<const char*, const char*>>{{"images", "'nutshell image list'"},
                                                        {"pull", "'nutshell image pull NAME'"},
                                                        {"kill", "'nutshell destroy ID'"},
                                                        {"stop", "'nutshell destroy ID'"},
                                                        {"inspect", "'nutshell info ID'"},
                                                        {"attach", "'nutshell exec -it ID -- sh'"}})
    EXPECT_THAT(unknown_command(app, word), HasSubstr(meant)) << word;
}

}  // namespace
}  // namespace nutshell::cli
