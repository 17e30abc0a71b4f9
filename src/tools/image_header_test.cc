#include "tools/image_header.h"

#include <gmock/gmock.h>

#include "tools/image_fixture.h"

namespace nutshell {
namespace {

using namespace std::literals;
using testing::HasSubstr;

std::string refusal(const std::string& bytes) {
  return why_refused(read_image_header(bytes), bytes.size());
}

void expect_size(const std::string& bytes, std::string_view name, std::uint32_t width,
                 std::uint32_t height) {
  const ImageHeader header = read_image_header(bytes);
  EXPECT_EQ(header.name, name);
  EXPECT_EQ(header.width, width) << name;
  EXPECT_EQ(header.height, height) << name;
}

const std::string kJpeg =
    "\xFF\xD8\xFF\xE0\0\4ab\xFF\xFF\xC0\0\x0B\x08\0\x20\0\x40\1\1\x11\0\xFF\xDA\0\2pixels\xFF\xD9"s;
const std::string kGif = "GIF89a\x40\0\x20\0\0\0\0,;"s;
const std::string kLossless = "RIFF\x18\0\0\0WEBPVP8L\x0A\0\0\0\x2F\x3F\xC0\x07\0abcdefg"s;
const std::string kExtended = "RIFF\x16\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x3F\0\0\x1F\0\0"s;

TEST(ImageHeader, HasTheSizeOfEachTypeThatModelsRead) {
  expect_size(png_of(64, 32), "PNG", 64, 32);
  expect_size(kJpeg, "JPEG", 64, 32);
  expect_size(kGif, "GIF", 64, 32);
  expect_size(kLossless, "WebP", 64, 32);
  expect_size(kExtended, "WebP", 64, 32);
  for (const std::string& image : {png_of(64, 32), kJpeg, kGif, kLossless, kExtended})
    EXPECT_EQ(refusal(image), "") << image.substr(0, 16);
}

TEST(ImageHeader, NamesTypesThatModelsRefuse) {
  const std::string bmp = "BM"s + std::string(16, '\0') + "\x40\0\0\0\xE0\xFF\xFF\xFF"s;
  expect_size(bmp, "BMP", 64, 32);
  EXPECT_EQ(refusal(bmp), "Models read PNG, JPEG, GIF and WebP, not BMP.");
  const std::string tiff =
      "II*\0\x08\0\0\0\2\0\0\1\3\0\1\0\0\0\x40\0\0\0\1\1\4\0\1\0\0\0\x20\0\0\0"s;
  expect_size(tiff, "TIFF", 64, 32);
  expect_size("\0\0\1\0\1\0\x20\0"s, "ICO", 32, 256);
  EXPECT_THAT(refusal("\0\0\0\x18"
                      "ftypheic"s),
              HasSubstr("not HEIC"));
  EXPECT_THAT(refusal("\0\0\0\x18"
                      "ftypavif"s),
              HasSubstr("not AVIF"));
}

TEST(ImageHeader, FindsDamage) {
  EXPECT_THAT(refusal("\x89PNG\r\n\x1A\n"), HasSubstr("ends inside its header"));
  const std::string png = png_of(64, 32);
  EXPECT_THAT(refusal(png.substr(0, png.size() - 12)), HasSubstr("before its image data"));
  EXPECT_THAT(refusal(png_of(0, 32)), HasSubstr("header is damaged"));
  EXPECT_THAT(refusal(kJpeg.substr(0, kJpeg.size() - 2)), HasSubstr("before its image data"));
  EXPECT_THAT(refusal(kJpeg.substr(0, 12)), HasSubstr("ends inside its header"));
  EXPECT_THAT(refusal(kGif.substr(0, kGif.size() - 1)), HasSubstr("before its image data"));
  EXPECT_THAT(refusal(kExtended.substr(0, 20)), HasSubstr("ends inside its header"));
  EXPECT_THAT(refusal("GIF89a"), HasSubstr("ends inside its header"));
}

TEST(ImageHeader, KeepsTheLimitsOfTheApis) {
  EXPECT_EQ(refusal(png_of(8000, 8000)), "");
  EXPECT_THAT(refusal(png_of(9000, 10)), HasSubstr("8000 × 8000"));
  const ImageHeader header = read_image_header(png_of(64, 32));
  EXPECT_EQ(why_refused(header, kMostImageBytes), "");
  EXPECT_THAT(why_refused(header, kMostImageBytes + 1), HasSubstr("5 MiB as base64"));
}

TEST(ImageHeader, ReturnsForEveryCut) {
  for (const std::string& image : {png_of(64, 32), kJpeg, kGif, kLossless, kExtended})
    for (std::size_t size = 0; size < image.size(); ++size)
      EXPECT_NE(refusal(image.substr(0, size)), "") << image.substr(0, 12) << " " << size;
}

}  // namespace
}  // namespace nutshell
