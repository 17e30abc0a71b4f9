#include "images/image_name.h"

#include <gtest/gtest.h>

namespace nutshell::images {
namespace {

std::string name_of(std::string_view text) {
  const auto name = whole_name(text);
  return name ? *name : "refused";
}

TEST(ImageName, HasATag) {
  EXPECT_EQ(name_of("debian"), "debian:latest");
  EXPECT_EQ(name_of("debian:12"), "debian:12");
  EXPECT_EQ(name_of("library/debian:12-slim"), "library/debian:12-slim");
  EXPECT_EQ(name_of("localhost:5000/team/app"), "localhost:5000/team/app:latest");
  EXPECT_EQ(name_of("localhost:5000/app:v1.2_3"), "localhost:5000/app:v1.2_3");
}

TEST(ImageName, IsNoPathAndNothingATerminalObeys) {
  for (const std::string text :
       {"",       ":",      ":tag", "a:",  "a:b:c", "/etc",     "a/",        "a//b", "./a",
        "../a",   "a/../b", "a/.b", ".",   "..",    "-a",       "a b",       "a\nb", "a\x1b[2J",
        "a:../b", "a:b/c",  "a@b",  "%2f", "a%2fb", "h:port/a", "h:123456/a"}) {
    EXPECT_EQ(name_of(text), "refused") << text;
  }
  EXPECT_EQ(name_of(std::string("a\0b", 3)), "refused");
  EXPECT_EQ(name_of(std::string(201, 'a')), "refused");
  EXPECT_EQ(name_of("a:" + std::string(129, 't')), "refused");
  EXPECT_EQ(whole_name("a\nb\x1b").error().message.find('\n'), std::string::npos);
}

TEST(ImageName, IsAFilesNameAndComesBack) {
  const std::string name = "localhost:5000/team/app:1";
  EXPECT_EQ(to_file_name(name).find('/'), std::string::npos);
  EXPECT_EQ(from_file_name(to_file_name(name)), name);
}

TEST(ImageDigest, IsSha256InSmallLetters) {
  const std::string digits(64, 'a');
  EXPECT_EQ(*parse_digest("sha256:" + digits), digits);
  for (const std::string& text :
       {digits, "sha256:" + digits + "a", "sha256:" + std::string(64, 'A'), "sha512:" + digits,
        "sha256:../" + std::string(61, 'a'), std::string("sha256:")}) {
    EXPECT_FALSE(parse_digest(text)) << text;
  }
}

}  // namespace
}  // namespace nutshell::images
