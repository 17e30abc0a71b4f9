#include "base/directory.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

TEST(MakeDirectory, AcceptsOneThatExists) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(make_directory(scratch / "a", 0750));
  EXPECT_TRUE(make_directory(scratch / "a"));
  EXPECT_FALSE(make_directory(scratch / "missing/a"));
}

TEST(MakePrivateDirectory, RefusesALinkAFileAndOneThatLetsOthersIn) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(make_private_directory(scratch / "mine"));
  EXPECT_TRUE(make_private_directory(scratch / "mine"));
  std::filesystem::create_symlink("mine", scratch / "link");
  ASSERT_TRUE(write_file(scratch / "file", ""));
  ASSERT_TRUE(make_directory(scratch / "open"));
  ASSERT_EQ(::chmod((scratch / "open").c_str(), 0755), 0);
  for (const char* name : {"link", "file", "open"}) {
    const auto refused = make_private_directory(scratch / name, "choose another");
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
    EXPECT_THAT(refused.error().message, testing::EndsWith("mode 0700: choose another"));
  }
}

}  // namespace
}  // namespace nutshell
