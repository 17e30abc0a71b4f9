#include "tools/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> split(std::string_view text) {
  auto words = split_shell_words(text);
  return words ? *words : std::vector<std::string>{"error: " + words.error().message};
}

TEST(ShellWords, SplitsAtBlanks) {
  EXPECT_THAT(split("  log  --oneline\t-n 1\n"), ElementsAre("log", "--oneline", "-n", "1"));
  EXPECT_THAT(split(""), IsEmpty());
  EXPECT_THAT(split(" \n"), IsEmpty());
}

TEST(ShellWords, KeepsWhatIsQuoted) {
  EXPECT_THAT(split(R"(commit -m 'a "b" c' "d \"e\" $f `g`" h\ i)"),
              ElementsAre("commit", "-m", "a \"b\" c", "d \"e\" $f `g`", "h i"));
  EXPECT_THAT(split("'' \"\" a''b"), ElementsAre("", "", "ab"));
}

TEST(ShellWords, ExpandNothing) {
  EXPECT_THAT(split("$(touch x) `id` *.c ~ ; rm -rf / | cat > f"),
              ElementsAre("$(touch", "x)", "`id`", "*.c", "~", ";", "rm", "-rf", "/", "|", "cat",
                          ">", "f"));
}

TEST(ShellWords, AreAnErrorWhereAQuoteOrABackslashHangs) {
  for (const char* text : {"'a", "\"a", "a\\", "\"a\\"})
    EXPECT_FALSE(split_shell_words(text)) << text;
}

TEST(ShellWords, ComeBackFromWhatTheyWereJoinedTo) {
  const std::vector<std::string> words = {"a", "", "b c", "it's", "$x", "\"q\"", "\\", "-n", "~"};
  EXPECT_EQ(split(join_shell_words(words)), words);
  EXPECT_EQ(join_shell_words({"git", "log", "-n", "1"}), "git log -n 1");
}

}  // namespace
}  // namespace nutshell
