#include "backends/gvisor/runsc.h"

#include <gtest/gtest.h>

namespace nutshell::gvisor {
namespace {

TEST(RunscVersion, IsTheDayOfItsRelease) {
  EXPECT_EQ(day_of_version("runsc version release-20240729.0\nspec: 1.1.0\n"), "20240729");
  EXPECT_EQ(day_of_version("runsc version 0.0~20221219.0\nspec: 1.0.2-dev"), "20221219");
  EXPECT_EQ(day_of_version("runsc version VERSION_MISSING"), "");
  EXPECT_EQ(day_of_version("123456789"), "");
}

}  // namespace
}  // namespace nutshell::gvisor
