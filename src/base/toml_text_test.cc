#include "base/toml_text.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

TEST(TomlText, HasItsLettersInQuotesAndComments) {
  for (const char* text :
       {"", "a = 1", "a = \"\xC3\xA9\"", "a = '\xC3\xA9' # \xC3\xA9\n",
        "\xEF\xBB\xBF"
        "a = 1",
        "a = \"\"\"\n\xC3\xA9 \\\"\"\" \xC3\xA9\"\"\"", "a = '''\n\xC3\xA9'\xC3\xA9'''\nb = ''",
        "a = \"\\\"\xC3\xA9\"", "a = '\\'", "a = \"unended \xC3\xA9", "\"\xC3\xA9\" = 1"})
    EXPECT_TRUE(check_toml_text(text)) << text;
}

TEST(TomlText, HasThemNowhereElse) {
  for (const char* text : {"\xC3\xA9 = 1", "a = 1 \xC3\xA9",
                           "\xC2\xA0"
                           "a = 1",
                           "a = '\\'\xC3\xA9", "a = \"\"\xC3\xA9", "a\xEF\xBB\xBF = 1", "\xFF"})
    EXPECT_FALSE(check_toml_text(text)) << text;
  EXPECT_EQ(check_toml_text("a = 1\n\"x\" = '''\n'''\n\xC3\xA9").error().message.substr(0, 2),
            "4:");
}

}  // namespace
}  // namespace nutshell
