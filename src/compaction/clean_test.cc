#include "compaction/clean.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

TEST(Clean, ColoursGo) {
  EXPECT_EQ(clean_line("\x1b[1;31merror\x1b[0m: x\x1b[K"), "error: x");
  EXPECT_EQ(clean_line("\x1b]8;;http://a\x07link\x1b]8;;\x1b\\ end"), "link end");
}

TEST(Clean, OverwrittenProgressGoes) {
  EXPECT_EQ(clean_line("10%\r50%\r100% done\r"), "100% done");
  EXPECT_EQ(clean_line("finished\r        \r"), "finished");
}

TEST(Clean, LongRunOfCarriageReturnsIsReadOnce) {
  EXPECT_EQ(clean_line(std::string(1U << 20U, '\r')), "");
}

TEST(Clean, InvalidBytesAreShown) {
  EXPECT_EQ(clean_line("a\xff\xc0\x80z"), "a\\xff\\xc0\\x80z");
  EXPECT_EQ(clean_line("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(clean_line("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(clean_line(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Clean, TextThatTurnsAroundIsShown) {
  EXPECT_EQ(clean_line("a\xe2\x80\xae"
                       "b"),
            "a\\u{202e}b");
}

TEST(Clean, CutOffEscapeEndsTheLine) {
  EXPECT_EQ(clean_line("a\x1b["), "a");
  EXPECT_EQ(clean_line("a\x1b"), "a");
}

TEST(Clean, LineNumbersStay) {
  const CleanText text("one\r\n\n\x1b[32mthree\x1b[0m\nfour", "five\n");
  ASSERT_EQ(text.lines().size(), 5U);
  EXPECT_EQ(text.lines()[0], "one");
  EXPECT_EQ(text.lines()[2], "three");
  EXPECT_EQ(text.lines()[4], "five");
  EXPECT_EQ(text.joined(), "one\n\nthree\nfour\nfive\n");
}

}  // namespace
}  // namespace nutshell::compaction
