#include "base/base64.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

TEST(Base64, HasTheVectorsOfRfc4648) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, TakesEveryByteAndBothLastDigits) {
  EXPECT_EQ(to_base64(std::string_view("\0\xff\x80\xfb\xef\xbe", 6)), "AP+A++++");
  EXPECT_EQ(to_base64("\xff\xff\xff"), "////");
}

}  // namespace
}  // namespace nutshell
