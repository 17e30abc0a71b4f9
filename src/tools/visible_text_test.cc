#include "tools/visible_text.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

TEST(ValidText, KeepsUtf8AndMarksOtherBytes) {
  EXPECT_EQ(model_text("grün €\xf0\x9f\x98\x80\t\n"), "grün €\xf0\x9f\x98\x80\t\n");
  EXPECT_EQ(model_text("a\xff\x62"), "a\\xffb");
  EXPECT_EQ(model_text("\xc0\xaf"), "\\xc0\\xaf");                    // too long
  EXPECT_EQ(model_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half a surrogate pair
  EXPECT_EQ(model_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(model_text("\xe2\x82"), "\\xe2\\x82");                    // cut off
}

TEST(VisibleName, IsOneLineWhateverTheNameHolds) {
  EXPECT_EQ(visible_name("src/a.cc"), "src/a.cc");
  EXPECT_EQ(visible_name("a b"), "a b");
  EXPECT_EQ(visible_name("a\nnext: offset=1"), "\"a\\nnext: offset=1\"");
  EXPECT_EQ(visible_name("\x1b[31m"), "\"\\x1b[31m\"");
  EXPECT_EQ(visible_name("a\xff"), "\"a\\xff\"");
  EXPECT_EQ(visible_name("\""), "\"\\\"\"");
  EXPECT_EQ(visible_name(" a"), "\" a\"");
}

TEST(ShortSize, HasThreeDigitsAtMost) {
  EXPECT_EQ(short_size(0), "0");
  EXPECT_EQ(short_size(999), "999");
  EXPECT_EQ(short_size(4200), "4.1k");
  EXPECT_EQ(short_size(12 << 20), "12M");
  EXPECT_EQ(short_size(1023 << 20), "1.0G");
}

}  // namespace
}  // namespace nutshell
