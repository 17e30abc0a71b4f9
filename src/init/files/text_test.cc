// Detecting text, showing it page by page, and what an edit leaves unchanged.
#include <gmock/gmock.h>

#include "init/files/edited_text.h"
#include "init/files/files_fixture.h"
#include "init/files/nearest_lines.h"
#include "init/files/text_form.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

TEST_F(FilesTest, CrLfStaysAndNewTextGetsIt) {
  make("a", "one\r\ntwo\r\nthree\r\n");
  ASSERT_TRUE(edit("a", "one\ntwo\n", "1\n2\n2b\n"));
  EXPECT_EQ(content("a"), "1\r\n2\r\n2b\r\nthree\r\n");
  ASSERT_TRUE(edit("a", "three", "3\n4"));
  EXPECT_EQ(content("a"), "1\r\n2\r\n2b\r\n3\r\n4\r\n");
  ASSERT_TRUE(edit("a", "1\r\n2\r\n", "1\n2\n"));  // who writes a CR means it
  EXPECT_EQ(content("a"), "1\n2\n2b\r\n3\r\n4\r\n");
  ASSERT_TRUE(edit("a", "2\n2b\n3", "x\ny"));
  EXPECT_EQ(content("a"), "1\nx\ny\r\n4\r\n");
}

TEST_F(FilesTest, PagesAreTheLinesOfTheFileWhateverTheirEnds) {
  make("a", "\n\r\nplain\r\n\nlonger than ten\nshort\r\nno end");
  const auto page = read_text(state_, {"a", 1, 99, 1000, 10});
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->text, "\n\nplain\n\nlonger tha\nshort\nno end\n");
  EXPECT_EQ(page->line_count, 7U);
  EXPECT_EQ(page->total_lines, 7U);
  ASSERT_EQ(page->cut_lines.size(), 1U);
  EXPECT_EQ(page->cut_lines.front().line, 5U);
  const auto middle = read_text(state_, {"a", 3, 2, 1000, 10});
  EXPECT_EQ(middle->text, "plain\n\n");
  EXPECT_EQ(middle->total_lines, 7U);
  EXPECT_EQ(read_text(state_, {"a", 9, 2, 1000, 10})->total_lines, 7U);
}

TEST_F(FilesTest, ByteOrderMarkStays) {
  make("a", "\xEF\xBB\xBFone\n");
  const auto page = read("a");
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->encoding, "utf-8-bom");
  EXPECT_EQ(page->text, "one\n");
  ASSERT_TRUE(edit("a", "one", "two"));
  EXPECT_EQ(content("a"), "\xEF\xBB\xBFtwo\n");
}

TEST_F(FilesTest, Utf16IsShownAsUtf8AndWrittenBack) {
  const std::string little = "\xFF\xFE" + "h\0\xE4\0\x3D\xD8\x00\xDE\n\0"s;  // h, ä, a smile
  make("le", little);
  const auto page = read("le");
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->encoding, "utf-16le");
  EXPECT_EQ(page->text, "h\xC3\xA4\xF0\x9F\x98\x80\n");
  ASSERT_TRUE(edit("le", "h\xC3\xA4", "\xC3\xA4h"));
  EXPECT_EQ(content("le"), "\xFF\xFE" + "\xE4\0h\0\x3D\xD8\x00\xDE\n\0"s);
  make("be", "\xFE\xFF" + "\0a\0\n"s);
  ASSERT_TRUE(edit("be", "a", "b"));
  EXPECT_EQ(content("be"), "\xFE\xFF" + "\0b\0\n"s);
  make("torn", "\xFF\xFE" + "a\0\x00\xD8"s);
  EXPECT_EQ(edit("torn", "a", "b").error().code, ErrorCode::Binary);
}

TEST_F(FilesTest, EightBitTextKeepsItsBytes) {
  make("a", "caf\xE9 \xFC\n");
  EXPECT_EQ(read("a")->encoding, "unknown-8bit");
  ASSERT_TRUE(edit("a", "caf\xC3\xA9", "th\xC3\xA9"));
  EXPECT_EQ(content("a"), "th\xE9 \xFC\n");
  EXPECT_EQ(edit("a", "th", "\xE2\x82\xAC").error().code, ErrorCode::InvalidArgument);
}

TEST_F(FilesTest, BinaryIsNamedByTypeAndSize) {
  make("a.png", "\x89PNG\r\n\x1A\n" + "\0\0\0\rIHDR"s);
  const auto page = read("a.png");
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->media_type, "image/png");
  EXPECT_EQ(page->encoding, "");
  EXPECT_EQ(page->info.size, 16U);
  const auto refused = edit("a.png", "PNG", "GIF");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "a.png is binary: image/png, 16 bytes.");
  EXPECT_EQ(media_type("x\0y"s, detect_encoding("x\0y"s)), "application/octet-stream");
  EXPECT_EQ(detect_encoding("BMW is no picture\n"), Encoding::Utf8);
}

TEST_F(FilesTest, PageHasTheLinesAskedForAndTrueTotals) {
  make("a", "1\n2\n3\n4\nlast");
  const auto page = read_text(state_, {"a", 2, 2, 1000, 100});
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->text, "2\n3\n");
  EXPECT_EQ(page->first_line, 2U);
  EXPECT_EQ(page->line_count, 2U);
  EXPECT_EQ(page->total_lines, 5U);
  EXPECT_EQ(page->ends_with_newline, 0);
  EXPECT_EQ(read_text(state_, {"a", 5, 9, 1000, 100})->text, "last\n");
  EXPECT_EQ(read_text(state_, {"a", 6, 9, 1000, 100})->line_count, 0U);
  EXPECT_EQ(read_text(state_, {"a", 1, 9, 5, 100})->text, "1\n2\n");
}

TEST_F(FilesTest, LongLineIsCutBetweenLettersAndListed) {
  make("a", "short\n" + std::string(50, 'x') + "\xC3\xA4\xC3\xA4\n");
  const auto page = read_text(state_, {"a", 1, 9, 1000, 51});
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->text, "short\n" + std::string(50, 'x') + "\n");
  ASSERT_EQ(page->cut_lines.size(), 1U);
  EXPECT_EQ(page->cut_lines[0].line, 2U);
  EXPECT_EQ(page->cut_lines[0].bytes, 54U);
}

TEST_F(FilesTest, EmptyFileHasNoLines) {
  make("a", "");
  const auto page = read("a");
  ASSERT_TRUE(page) << words(page);
  EXPECT_EQ(page->total_lines, 0U);
  EXPECT_EQ(page->text, "");
}

TEST(EditedText, SaysWhereTheNewTextIs) {
  EditedText text("a\nb\nc\nd\n");
  ASSERT_TRUE(text.apply({"d\n", "x\ny\n", 0}, "f"));
  ASSERT_TRUE(text.apply({"a\n", "", 0}, "f"));
  const auto places = text.places();
  EXPECT_EQ(text.text(), "b\nc\nx\ny\n");
  EXPECT_EQ(places.total_lines, 4U);
  ASSERT_EQ(places.lines.size(), 2U);
  EXPECT_EQ(places.lines[1].first, 3U);
  EXPECT_EQ(places.lines[1].last, 4U);
}

TEST(NearestLines, AreFoundByLikenessWhereBlanksAreNotAll) {
  const auto nearest =
      find_nearest("alpha\nint count = first + second;\nomega\n", "int counter = first + second;");
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->first_line, 2U);
  EXPECT_EQ(nearest->difference, "");
  EXPECT_FALSE(find_nearest("alpha\nbeta\n", "something else"));
  EXPECT_EQ(find_nearest("a  = 1;\n", "a = 1;")->difference, "spaces inside a line");
  EXPECT_EQ(find_nearest("a = 1;\n", "a = 1;  \n")->difference, "blanks at the end of a line");
}

TEST(Version, DependsOnTheBytesAndNotOnTheirParts) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i)
    bytes += static_cast<char>(i * 7);
  for (const std::size_t part : {1U, 63U, 64U, 65U, 500U}) {
    ContentHash hash;
    for (std::string_view left = bytes; !left.empty();
         left.remove_prefix(std::min(part, left.size())))
      hash.add(left.substr(0, part));
    EXPECT_EQ(hash.full_version(), full_version(bytes));
  }
  EXPECT_NE(full_version(""), full_version("\0"s));
  EXPECT_NE(full_version("ab"), full_version("ba"));
}

TEST(Version, NewlinesAreCounted) {
  std::string bytes(1000, '\n');
  EXPECT_EQ(count_newlines(bytes), 1000U);
  EXPECT_EQ(count_newlines("a\nb\x8A\x0B\n\n12345678\n"), 4U);
  EXPECT_EQ(count_lines("a\nb"), 2U);
}

}  // namespace
}  // namespace nutshell::init
