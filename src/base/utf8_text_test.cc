#include "base/utf8_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace nutshell {
namespace {

std::string encoded(char32_t character) {
  std::string text;
  append_utf8(text, character);
  return text;
}

TEST(Utf8Text, EncodesAtEveryBorderOfLength) {
  EXPECT_EQ(encoded(0), std::string(1, '\0'));
  EXPECT_EQ(encoded(0x7f), "\x7f");
  EXPECT_EQ(encoded(0x80), "\xc2\x80");
  EXPECT_EQ(encoded(0x7ff), "\xdf\xbf");
  EXPECT_EQ(encoded(0x800), "\xe0\xa0\x80");
  EXPECT_EQ(encoded(0xffff), "\xef\xbf\xbf");
  EXPECT_EQ(encoded(0x10000), "\xf0\x90\x80\x80");
  EXPECT_EQ(encoded(0x10ffff), "\xf4\x8f\xbf\xbf");
}

TEST(Utf8Text, ReadsWhatItEncodes) {
  for (char32_t character = 0; character < 0x110000; ++character) {
    if (character >= 0xd800 && character < 0xe000) continue;  // halves of pairs are no characters
    const std::string text = encoded(character);
    ASSERT_EQ(utf8_length(text), text.size());
    ASSERT_EQ(utf8_character(text), character);
  }
}

TEST(Utf8Text, RefusesHalvesOfPairs) {
  EXPECT_FALSE(is_utf8(encoded(0xd800)));
  EXPECT_FALSE(is_utf8(encoded(0xdfff)));
}

TEST(Utf8Text, CountsCharacters) {
  EXPECT_EQ(count_characters(""), 0U);
  EXPECT_EQ(count_characters("aä€😀"), 4U);
}

TEST(Utf8Text, IsCutBetweenCharacters) {
  const std::string_view text = "aä€😀";
  EXPECT_EQ(whole_characters(text, 0), "");
  EXPECT_EQ(whole_characters(text, 2), "a");
  EXPECT_EQ(whole_characters(text, 3), "aä");
  EXPECT_EQ(whole_characters(text, 5), "aä");
  EXPECT_EQ(whole_characters(text, 9), "aä€");
  EXPECT_EQ(whole_characters(text, 10), text);
  EXPECT_EQ(whole_characters(text, 11), text);
}

}  // namespace
}  // namespace nutshell
