#include "core/exec.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

ExecRequest command(std::vector<std::string> argv) {
  ExecRequest request;
  request.argv = std::move(argv);
  return request;
}

std::string refusal(const ExecRequest& request) {
  const auto checked = check_exec(request);
  return checked ? "" : checked.error().message;
}

TEST(Exec, NeedsACommand) {
  EXPECT_NE(refusal(command({})), "");
  EXPECT_NE(refusal(command({""})), "");
  EXPECT_EQ(refusal(command({"true", "", "-x"})), "");
}

TEST(Exec, RefusesNulBytesWhereLinuxWouldCutTheText) {
  const std::string cut("a\0b", 3);
  EXPECT_EQ(refusal(command({"echo", cut})), "argument contains a NUL byte");
  ExecRequest request = command({"env"});
  request.environment = {"A=" + cut};
  EXPECT_EQ(refusal(request), "environment variable contains a NUL byte");
  request.environment.clear();
  request.working_directory = cut;
  EXPECT_EQ(refusal(request), "workdir contains a NUL byte");
}

TEST(Exec, RefusesVariablesWithoutANameOrAValue) {
  for (const char* variable : {"", "=x", "NAME"}) {
    ExecRequest request = command({"env"});
    request.environment = {variable};
    EXPECT_NE(refusal(request), "") << variable;
  }
  ExecRequest request = command({"env"});
  request.environment = {"EMPTY=", "TWO=a=b"};
  EXPECT_EQ(refusal(request), "");
}

TEST(Exec, TakesTheLongestArgumentLinuxTakes) {
  EXPECT_EQ(refusal(command({"echo", std::string((128U << 10U) - 1, 'x')})), "");
  EXPECT_NE(refusal(command({"echo", std::string(128U << 10U, 'x')})).find("standard input"),
            std::string::npos);
}

TEST(Exec, RefusesMoreArgumentsThanLinuxTakes) {
  std::vector<std::string> argv(20, std::string(100'000, 'x'));
  EXPECT_EQ(refusal(command(argv)), "");
  argv.emplace_back(100'000, 'x');
  EXPECT_NE(refusal(command(argv)).find("at most 2097152"), std::string::npos);
  // Linux counts a pointer for each argument, too.
  EXPECT_NE(refusal(command(std::vector<std::string>(250'000, "x"))), "");
}

TEST(Exec, EveryOutcomeHasItsWord) {
  EXPECT_EQ(to_string(Outcome::Exited), "exited");
  EXPECT_EQ(to_string(Outcome::TimedOut), "timed_out");
  EXPECT_EQ(to_string(Outcome::Lost), "lost");
}

}  // namespace
}  // namespace nutshell
