#include "egress/inspect/stream_replacer.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

TEST(StreamReplacer, ReplacesTextsHoweverTheyAreSplit) {
  const std::string text = "a secret, sesecret and secre and secrets";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    StreamReplacer replacer({{"secret", "X"}, {"and", ""}});
    std::string made;
    for (std::size_t at = 0; at < text.size(); at += size)
      made += replacer.take(std::string_view(text).substr(at, size));
    made += replacer.end();
    EXPECT_EQ(made, "a X, seX  secre  Xs") << size;
    EXPECT_TRUE(replacer.has_replaced());
  }
}

TEST(StreamReplacer, HoldsBackOnlyABeginning) {
  const std::vector<Replacement> replacements = {{"secret", "X"}};
  StreamReplacer replacer(replacements);
  EXPECT_EQ(replacer.take("data: 1\n\n"), "data: 1\n\n");
  EXPECT_EQ(replacer.take("sec"), "");
  EXPECT_EQ(replacer.take("ond"), "second");
  EXPECT_EQ(replacer.take("s"), "");
  EXPECT_EQ(replacer.end(), "s");
  EXPECT_FALSE(replacer.has_replaced());
}

TEST(StreamReplacer, TakesTheLongestText) {
  EXPECT_EQ(replaced("abcabd", {{"ab", "1"}, {"abc", "2"}}), "21d");
  EXPECT_EQ(replaced("ab", {{"ab", "1"}, {"abc", "2"}}), "1");
  EXPECT_EQ(replaced("nothing", {}), "nothing");
}

}  // namespace
}  // namespace nutshell::egress
