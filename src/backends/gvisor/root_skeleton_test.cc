#include "backends/gvisor/root_skeleton.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::gvisor {
namespace {

namespace fs = std::filesystem;

class RootSkeleton : public testing::Test {
 protected:
  RootSkeleton() {
    fs::create_directories(scratch_ / "image/usr/share");
    fs::create_directories(scratch_ / "image/dev");
    fs::create_directory_symlink("usr", scratch_ / "image/bin");
    EXPECT_TRUE(write_file(scratch_ / "image/init", "theirs"));
  }
  Result<std::vector<SharedPath>> write(const SandboxSpec& spec = {}) {
    fs::remove_all(scratch_ / "root");
    return write_skeleton(scratch_ / "root", scratch_ / "image", spec);
  }
  static SandboxSpec with_mount(const std::string& target) {
    SandboxSpec spec;
    spec.unsafe_mounts = {{"/srv", target, UnsafeMount::Access::ReadOnly}};
    return spec;
  }

  ScratchDirectory scratch_;
};

TEST_F(RootSkeleton, SharesAnImageEntryByEntry) {
  const auto sharing = write();
  ASSERT_TRUE(sharing) << sharing.error().message;
  EXPECT_EQ(sharing->size(), 2U);  // usr and init; not dev, not the link
  EXPECT_TRUE(fs::is_symlink(scratch_ / "root/bin"));
  EXPECT_TRUE(fs::is_empty(scratch_ / "root/dev"));
  EXPECT_TRUE(fs::is_directory(scratch_ / "root/workspace"));
  EXPECT_TRUE(fs::exists(scratch_ / "root/.nutshell/bin/nutshell-init"));
}

TEST_F(RootSkeleton, WritesNothingIntoTheImage) {
  ASSERT_TRUE(write(with_mount("/new/place")));
  EXPECT_FALSE(fs::exists(scratch_ / "image/new"));
  EXPECT_FALSE(fs::exists(scratch_ / "image/workspace"));
  EXPECT_TRUE(fs::is_directory(scratch_ / "root/new/place"));
}

TEST_F(RootSkeleton, RefusesMountsAtPlacesThatAnImageLacks) {
  EXPECT_TRUE(write(with_mount("/usr/share")));
  EXPECT_FALSE(write(with_mount("/usr/none")));
  EXPECT_FALSE(fs::exists(scratch_ / "image/usr/none"));
}

TEST_F(RootSkeleton, RefusesMountsBehindLinks) {
  EXPECT_FALSE(write(with_mount("/bin/x")));
  fs::create_directory_symlink("/etc", scratch_ / "image/usr/out");
  EXPECT_FALSE(write(with_mount("/usr/out")));
}

TEST_F(RootSkeleton, HostsRootHasItsProgramsAndNoneOfItsSecrets) {
  const auto sharing = write_skeleton(scratch_ / "own", "", {});
  ASSERT_TRUE(sharing) << sharing.error().message;
  EXPECT_FALSE(fs::exists(scratch_ / "own/etc/shadow"));
  EXPECT_EQ(read_file(scratch_ / "own/etc/hostname").value_or(""), "nutshell\n");
}

}  // namespace
}  // namespace nutshell::gvisor
