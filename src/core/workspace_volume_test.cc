#include "core/workspace_volume.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

SandboxSpec with(const std::string& workspace) {
  SandboxSpec spec;
  spec.workspace = workspace;
  return spec;
}

TEST(WorkspaceVolume, IsNamedBehindItsWord) {
  EXPECT_EQ(volume_of(with("volume:project-1.a_b")), "project-1.a_b");
  EXPECT_TRUE(check_volume(with("volume:project-1.a_b")));
  for (const char* directory : {"", "/home/volume:x", "volumes"}) {
    EXPECT_EQ(volume_of(with(directory)), "") << directory;
    EXPECT_TRUE(check_volume(with(directory))) << directory;
  }
}

TEST(WorkspaceVolume, HasNoNameThatMeansSomethingElse) {
  for (const std::string name : {"", "..", "-x", ".hidden", "a/b", "../x", "A", "a b", "a\nb",
                                 "a:ro", "a%2fb", "a?force=1", "ä"}) {
    EXPECT_FALSE(check_volume(with("volume:" + name))) << name;
  }
  EXPECT_FALSE(check_volume(with("volume:" + std::string(64, 'a'))));
  EXPECT_FALSE(check_volume(with(std::string("volume:a\0b", 10))));
}

}  // namespace
}  // namespace nutshell
