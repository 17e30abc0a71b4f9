#include "backends/native/files/workspace_mount.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

// A plain user's mount is made by a child, whose error has to arrive as it was.
TEST(HostDirectory, KeepsTheCodeOfAnErrorOfTheChildThatMountsIt) {
  const bool is_root = ::geteuid() == 0;  // others may not even make the mount namespace
  HostDirectory directory;
  directory.path = "/nonexistent/directory";
  const auto brought = bring_host_directory(directory);
  ASSERT_FALSE(brought);
  EXPECT_EQ(brought.error().code, is_root ? ErrorCode::NotFound : ErrorCode::PermissionDenied)
      << brought.error().message;
  EXPECT_TRUE(brought.error().message.starts_with("mount /nonexistent/directory: "))
      << brought.error().message;
  directory.path = "/proc/self/status";
  const auto file = bring_host_directory(directory);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().code, ErrorCode::Internal) << file.error().message;
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
