#include "backends/native/files/rootfs.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::native {
namespace {

TEST(Image, WithoutMountPointsIsAccepted) {
  const ScratchDirectory image;
  EXPECT_TRUE(check_image(image.path()));
}

TEST(Image, IsNotFoundIfMissing) {
  const ScratchDirectory image;
  EXPECT_EQ(check_image(image / "none").error().code, ErrorCode::NotFound);
}

TEST(Image, WithALinkWhereAMountGoesIsRefused) {
  for (const char* name : {"proc", "sys", "dev", "etc", "tmp", "workspace"}) {
    const ScratchDirectory image;
    std::filesystem::create_directory(image / "elsewhere");
    std::filesystem::create_symlink("elsewhere", image / name);
    EXPECT_FALSE(check_image(image.path())) << name;
  }
}

TEST(Image, WithAFileWhereAMountGoesIsRefused) {
  const ScratchDirectory image;
  ASSERT_TRUE(write_file(image / "proc", ""));
  EXPECT_EQ(check_image(image.path()).error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace nutshell::native
