#include "base/apparmor.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

TEST(AppArmor, NeedsAProfileWhereTheKernelSaysSo) {
  const ScratchDirectory scratch;
  const auto file = scratch / "switch";
  EXPECT_FALSE(needs_apparmor_profile(file));
  ASSERT_TRUE(write_file(file, "0\n"));
  EXPECT_FALSE(needs_apparmor_profile(file));
  ASSERT_TRUE(write_file(file, "1\n"));
  EXPECT_TRUE(needs_apparmor_profile(file));
}

TEST(AppArmor, ProfileNamesTheProgramsAndOnlyThem) {
  const std::string profile = apparmor_profile("/home/a b/bin");
  EXPECT_NE(profile.find("profile nutshell \"/home/a b/bin/nutshell{,-launcher,-unpack,d}\""),
            std::string::npos)
      << profile;
  EXPECT_NE(profile.find("  userns,\n"), std::string::npos);
}

// A directory whose name is a pattern must not give its right to other programs.
TEST(AppArmor, ProfileTakesAPathAsItIs) {
  const std::string profile = apparmor_profile("/tmp/*\" {}/bin");
  EXPECT_NE(profile.find("\"/tmp/\\*\\\" \\{\\}/bin/nutshell{"), std::string::npos) << profile;
}

}  // namespace
}  // namespace nutshell
