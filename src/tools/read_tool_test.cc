#include <gmock/gmock.h>

#include "tools/built_in.h"
#include "tools/image_fixture.h"
#include "tools/tool_fixture.h"

namespace nutshell {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

wire::TextPage page_of(std::string text, std::uint64_t first, std::uint64_t total) {
  wire::TextPage page;
  page.version = "9f02";
  page.media_type = "text/plain";
  page.encoding = "utf-8";
  page.ends_with_newline = 1;
  page.first_line = first;
  page.total_lines = total;
  page.line_count = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  page.text = std::move(text);
  return page;
}

class ReadTool : public ToolTest {
 protected:
  const Tool tool = make_read_tool();
};

TEST_F(ReadTool, NumbersTheLines) {
  init.answer(page_of("one\ntwo\n", 1, 2));
  EXPECT_EQ(text(tool, R"({"path": "a.c"})"), "a.c 1-2/2 v9f02\n1\tone\n2\ttwo");
  EXPECT_EQ(init.asked<wire::ReadText>().path, "a.c");
}

TEST_F(ReadTool, NamesTheNextPage) {
  init.answer(page_of("five\n", 5, 9));
  const ToolResult result = call(tool, R"({"path": "a.c", "offset": 5, "limit": 1})");
  EXPECT_TRUE(result.is_cut);
  EXPECT_THAT(result.text, HasSubstr("5\tfive\nnext: offset=6"));
  const auto asked = init.asked<wire::ReadText>();
  EXPECT_EQ(asked.first_line, 5U);
  EXPECT_EQ(asked.most_lines, 1U);
}

TEST_F(ReadTool, CountsLinesFromZeroForRoomKit) {
  context.dialect = Dialect::RoomKit;
  init.answer(page_of("five\n", 5, 9));
  EXPECT_THAT(text(tool, R"({"path": "a.c", "offset": 4, "limit": 1})"),
              HasSubstr("next: offset=5"));
  EXPECT_EQ(init.asked<wire::ReadText>().first_line, 5U);
}

TEST_F(ReadTool, StopsWhereTheBudgetEnds) {
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += std::string(40, 'x') + "\n";
  init.answer(page_of(lines, 1, 200));
  const ToolResult result = call(tool, R"({"path": "a.c", "max_tokens": 200})");
  EXPECT_LE(tokens.count(result.text), 200U);
  EXPECT_TRUE(result.is_cut);
  EXPECT_THAT(result.text, HasSubstr("next: offset="));
}

TEST_F(ReadTool, TellsWhatIsPeculiarAboutTheFile) {
  wire::TextPage page = page_of("a\n", 1, 1);
  page.encoding = "utf-16le";
  page.has_crlf = 1;
  page.ends_with_newline = 0;
  page.cut_lines = {{1, 5001}};
  init.answer(page);
  EXPECT_EQ(text(tool, R"({"path": "a"})"),
            "a 1-1/1 v9f02 utf-16le crlf no-final-newline\n1\ta…(+5000 bytes)");
}

TEST_F(ReadTool, SaysThatAFileIsEmpty) {
  init.answer(page_of("", 1, 0));
  EXPECT_EQ(text(tool, R"({"path": "a"})"), "a empty v9f02");
}

TEST_F(ReadTool, RefusesAnOffsetBehindTheEnd) {
  init.answer(page_of("", 7, 3));
  EXPECT_THAT(text(tool, R"({"path": "a", "offset": 7})"),
              StartsWith("invalid_argument: `offset` 7 is behind the end: a has 3 lines."));
}

TEST_F(ReadTool, RefusesBinaryFilesAndSaysHowToLookAtThem) {
  wire::TextPage page;
  page.media_type = "application/x-elf";
  page.info.size = 12;
  init.answer(page);
  EXPECT_EQ(text(tool, R"({"path": "a.out"})"),
            "binary: a.out is application/x-elf, 12 bytes.\n"
            "Look at it with bash, for example with file, strings or xxd.");
}

wire::TextPage image_page(std::uint64_t size) {
  wire::TextPage page;
  page.media_type = "image/png";
  page.info.size = size;
  return page;
}

TEST_F(ReadTool, ReturnsAnImageToACallerThatTakesImages) {
  const std::string image = png_of(64, 32);
  init.answer(image_page(image.size()));
  EXPECT_EQ(call(tool, R"({"path": "a.png"})").error->code, ErrorCode::Binary);
  context.takes_images = true;
  init.answer(image_page(image.size()));
  init.answer(wire::FileInfo{}, wire::FileData{image}, wire::Done{});
  const ToolResult result = call(tool, R"({"path": "a.png"})");
  ASSERT_TRUE(result.image);
  EXPECT_EQ(result.image->media_type, "image/png");
  EXPECT_EQ(result.image->bytes, image);
  EXPECT_EQ(result.text, "a.png PNG, 64 × 32 pixels, 61 bytes");
}

TEST_F(ReadTool, RefusesAnImageThatModelsRefuseAndNamesTheProgramThatScalesIt) {
  context.takes_images = true;
  const std::string image = png_of(9000, 9000);
  init.answer(image_page(image.size()));
  init.answer(wire::FileInfo{}, wire::FileData{image}, wire::Done{});
  init.answer(wire::Failed{ErrorCode::NotFound, "no such file"});
  wire::FileInfo program;
  program.kind = wire::FileKind::Regular;
  init.answer(program);
  const ToolResult result = call(tool, R"({"path": "a b.png"})");
  EXPECT_FALSE(result.image);
  EXPECT_EQ(result.text,
            "binary: a b.png is PNG, 9000 × 9000 pixels, 61 bytes.\n"
            "Models read images of at most 8000 × 8000 pixels.\n"
            "Make a smaller copy with bash: convert 'a b.png' -resize '1568x1568>' "
            "/tmp/small.png; then read that.");
}

TEST_F(ReadTool, ReadsOnlyTheHeaderOfAnImageThatIsTooLarge) {
  context.takes_images = true;
  init.answer(image_page(5'000'000));
  init.answer(wire::FileInfo{}, wire::FileData{png_of(64, 32)}, wire::Done{});
  for (int i = 0; i < 4; ++i)
    init.answer(wire::Failed{ErrorCode::NotFound, "no such file"});
  const std::string told = text(tool, R"({"path": "a.png"})");
  EXPECT_THAT(told, StartsWith("binary: a.png is PNG, 64 × 32 pixels, 5000000 bytes.\n"
                               "Models read images of at most 5 MiB as base64"));
  EXPECT_THAT(told, HasSubstr("The sandbox has no program that converts or scales images"));
  (void)init.asked<wire::ReadText>();
  EXPECT_LE(init.asked<wire::ReadFile>().length, 64U << 10U);
}

TEST_F(ReadTool, DoesNotRepeatALongAnswer) {
  const std::string lines = std::string(4000, 'x') + "\n";
  outputs.before = "o7";
  init.answer(page_of(lines, 1, 1));
  const ToolResult result = call(tool, R"({"path": "a"})");
  EXPECT_EQ(result.text, "a v9f02: unchanged since o7 (recall o7 shows it again)");
  EXPECT_EQ(result.output_id, "o7");
  context.repeats_output = true;
  init.answer(page_of(lines, 1, 1));
  EXPECT_THAT(text(tool, R"({"path": "a"})"), HasSubstr("xxxx"));
}

TEST_F(ReadTool, PassesOnWhatInitRefuses) {
  init.answer(wire::Refused{ErrorCode::NotFound, "a is not there.", "", "Did you mean b?"});
  const ToolResult result = call(tool, R"({"path": "a"})");
  EXPECT_EQ(result.text, "not_found: a is not there.\nDid you mean b?");
  EXPECT_EQ(result.error->code, ErrorCode::NotFound);
}

TEST_F(ReadTool, FailsWithTheSandbox) {
  init.hang_up();
  EXPECT_THAT(text(tool, R"({"path": "a"})"), StartsWith("unavailable: "));
}

}  // namespace
}  // namespace nutshell
