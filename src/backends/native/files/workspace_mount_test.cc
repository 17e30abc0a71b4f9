#include "backends/native/files/workspace_mount.h"

#include <gtest/gtest.h>

namespace nutshell::native {
namespace {

TEST(LayerNames, AreLettersAndDigits) {
  EXPECT_TRUE(check_layers({"workspace", "0001"}));
  for (const std::string name : {"", "..", "a/b", "a:b", "a,upperdir=x", "/etc", "0001.w", "base",
                                 "a b", "x\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    EXPECT_FALSE(check_layers({"workspace", name})) << name;
  }
  EXPECT_FALSE(check_layers({"workspace", std::string("a\0b", 3)}));
}

TEST(LayerNames, AreDistinctAndAtMostSixtyFour) {
  EXPECT_FALSE(check_layers({}));
  EXPECT_FALSE(check_layers({"0001", "0001"}));
  std::vector<std::string> many;
  for (int i = 0; i < 65; ++i)
    many.push_back(std::to_string(i));
  EXPECT_FALSE(check_layers(many));
}

}  // namespace
}  // namespace nutshell::native
