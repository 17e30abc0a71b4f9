#include "compaction/command_words.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

std::string joined(std::string_view text) {
  const auto found = command_words(text);
  std::string result = found.is_whole ? "" : "part: ";
  for (const auto& word : found.words)
    result += "[" + word + "]";
  return result;
}

TEST(CommandWords, LastCommandOfAListCounts) {
  EXPECT_EQ(joined("cd x && FOO=1 cargo test -q"), "[cargo][test][-q]");
  EXPECT_EQ(joined("make; ctest"), "part: [ctest]");
}

TEST(CommandWords, PipelineIsAPart) {
  EXPECT_EQ(joined("cargo test 2>&1 | tail -n 20"), "part: [tail][-n][20]");
  EXPECT_EQ(joined("cargo test 2>&1"), "[cargo][test]");
  EXPECT_EQ(joined("cargo test > log"), "part: [cargo][test]");
}

TEST(CommandWords, ShellsTextIsReadToo) {
  EXPECT_EQ(joined("bash -lc 'cd x && pytest -q'"), "[pytest][-q]");
  EXPECT_EQ(joined("sh build.sh"), "[sh][build.sh]");
}

TEST(CommandWords, ListHasEveryCommandThatIsShown) {
  const auto commands = listed_commands("cd x && cargo build; sh -c 'make | tail' && FOO=1 pytest");
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_EQ(commands[0].words.front(), "cargo");
  EXPECT_EQ(commands[1].words.front(), "tail");
  EXPECT_EQ(commands[2].words.front(), "pytest");
}

TEST(CommandWords, QuotesAreTakenOff) {
  EXPECT_EQ(joined("grep -rn \"a b\" 'c;d' e\\ f"), "[grep][-rn][a b][c;d][e f]");
  EXPECT_EQ(joined("echo 'open"), "[echo][open]");
}

TEST(CommandWords, WrappersAreSkipped) {
  EXPECT_EQ(joined("sudo -E timeout 30 /usr/bin/make -j4"), "[make][-j4]");
  EXPECT_EQ(joined("npx --yes jest"), "[jest]");
  EXPECT_EQ(joined("uv run pytest -q"), "[pytest][-q]");
  EXPECT_EQ(joined("uv pip install x"), "[uv][pip][install][x]");
  EXPECT_EQ(joined("env"), "[env]");
}

TEST(CommandWords, LogsAreKnownByWhoReadsThem) {
  for (const auto* text : {"docker logs x", "kubectl -n a logs b", "docker compose logs",
                           "journalctl", "cd x && podman container logs -f y"})
    EXPECT_TRUE(reads_log(command_words(text))) << text;
  for (const auto* text : {"docker ps logs", "kubectl get logs", "kubectl exec a -- logs",
                           "cat logs", "docker logs x | grep y", "ls; docker logs x", ""})
    EXPECT_FALSE(reads_log(command_words(text))) << text;
}

TEST(CommandWords, NothingIsNothing) {
  EXPECT_EQ(joined(""), "");
  EXPECT_EQ(joined(" && ;; "), "");
}

}  // namespace
}  // namespace nutshell::compaction
