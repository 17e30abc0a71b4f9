#include "base/safe_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nutshell {
namespace {

TEST(SafeText, LeavesOrdinaryTextAlone) {
  const std::string text =
      "grün 日本語 שלום 👩‍👩‍👧 ❤️ naïve \"quoted\" back\\slash";
  EXPECT_EQ(terminal_line(text), text);
  EXPECT_EQ(terminal_text(text + "\n\t"), text + "\n\t");
  EXPECT_EQ(model_text(text + "\r\n\x1b"), text + "\r\n\x1b");
  EXPECT_EQ(terminal_json(text), text);
}

TEST(SafeText, ShowsControlCharactersOnALine) {
  EXPECT_EQ(terminal_line("a\nb\tc\x1b[2J\x7f"), "a\\nb\\tc\\x1b[2J\\x7f");
  EXPECT_EQ(terminal_line("\xc2\x9b"), "\\u{9b}");  // CSI of eight bits
  EXPECT_EQ(terminal_line("\xff\xc2"), "\\xff\\xc2");
  EXPECT_EQ(terminal_text("a\nb\tc\r\x1b"), "a\nb\tc\\x0d\\x1b");
}

TEST(SafeText, ShowsInvisibleCharacters) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xe2\x80\xae", "\\u{202e}"},       // override
      {"\xe2\x81\xa6", "\\u{2066}"},       // isolate
      {"\xe2\x80\x8f", "\\u{200f}"},       // mark
      {"\xd8\x9c", "\\u{61c}"},            // Arabic letter mark
      {"\xe2\x80\xa8", "\\u{2028}"},       // line separator
      {"\xe2\x80\x8b", "\\u{200b}"},       // zero width space
      {"\xef\xbb\xbf", "\\u{feff}"},       // byte order mark
      {"\xf3\xa0\x81\x81", "\\u{e0041}"},  // tag
      {"\xf3\xa0\x84\x80", "\\u{e0100}"},  // selector that spells out bytes
      {"\xe3\x85\xa4", "\\u{3164}"},       // filler
  };
  for (const auto& [hidden, shown] : cases) {
    for (const auto& safe : {terminal_line, terminal_text, model_text})
      EXPECT_EQ(safe("a" + hidden + "b"), "a" + shown + "b");
  }
}

TEST(SafeText, ShowsRowsOfJoinersAndSelectors) {
  EXPECT_EQ(model_text("a\xe2\x80\x8d\xe2\x80\x8c\xef\xb8\x80"
                       "b"),
            "a\xe2\x80\x8d\\u{200c}\\u{fe00}b");
}

TEST(SafeText, KeepsTheValueOfJson) {
  EXPECT_EQ(terminal_json("{\"a\": \"\xe2\x80\xae\xf3\xa0\x81\x81\xc2\x9b\"}\n"),
            "{\"a\": \"\\u202e\\udb40\\udc41\\u009b\"}\n");
}

TEST(SafeText, ShowsHiddenCharactersInJsonForAModel) {
  EXPECT_EQ(model_json("{\"a\":\"\xe2\x80\xae\"}"), "{\"a\":\"\\\\u{202e}\"}");
}

TEST(SafeText, IsTheSameWhenMadeSafeAgain) {
  const std::string hostile = "a\n\x1b[31m\xe2\x80\xae\xff\xf3\xa0\x81\x81";
  EXPECT_EQ(terminal_line(terminal_line(hostile)), terminal_line(hostile));
  EXPECT_EQ(model_text(model_text(hostile)), model_text(hostile));
}

}  // namespace
}  // namespace nutshell
