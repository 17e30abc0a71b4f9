#include "init/layers/mounted_layer.h"

#include <gtest/gtest.h>

namespace nutshell::init {
namespace {

constexpr std::string_view kScratch =
    "30 20 0:44 / /tmp rw,nosuid - tmpfs none rw\n"
    "40 20 0:44 / /workspace rw,nosuid - tmpfs none rw,size=1024k\n";
constexpr std::string_view kBound = "41 40 0:44 /workspace /workspace rw - tmpfs none rw\n";

std::string overlay(int id, int parent, std::string_view top) {
  return std::to_string(id) + " " + std::to_string(parent) +
         " 0:50 / /workspace rw,nosuid shared:1 - overlay workspace "
         "rw,lowerdir=0001:workspace:base,upperdir=" +
         std::string(top) + ",workdir=" + std::string(top) + ".w,userxattr\n";
}

TEST(MountedLayer, IsTheUpperOneOfTheOverlay) {
  const std::string table = std::string(kScratch) + overlay(42, 40, "0002");
  EXPECT_EQ(*mounted_layer_in(table), "0002");
}

TEST(MountedLayer, IsTheFirstOneBeforeAnythingIsStacked) {
  EXPECT_EQ(*mounted_layer_in(std::string(kScratch) + std::string(kBound)), "workspace");
}

TEST(MountedLayer, IsNoneWhereTheStoreItselfShows) {
  EXPECT_EQ(*mounted_layer_in(kScratch), "");
}

// Mounted beneath the old one, which is not detached yet; the kernel lists them in any order.
TEST(MountedLayer, IsTheOneThatNoOtherCovers) {
  const std::string below = overlay(77, 40, "0003");
  const std::string above = overlay(42, 77, "0002");
  EXPECT_EQ(*mounted_layer_in(std::string(kScratch) + below + above), "0002");
  EXPECT_EQ(*mounted_layer_in(above + below + std::string(kScratch)), "0002");
}

TEST(MountedLayer, HasTheOthersBelowItWithoutTheBase) {
  const std::string mount =
      "42 40 0:50 / /workspace rw - overlay workspace "
      "rw,lowerdir=0002:workspace:base,upperdir=0005,workdir=0005.w,userxattr\n";
  EXPECT_EQ(*mounted_layers_in(std::string(kScratch) + mount),
            (std::vector<std::string>{"workspace", "0002", "0005"}));
  EXPECT_EQ(*mounted_layers_in(std::string(kScratch) + std::string(kBound)),
            std::vector<std::string>{"workspace"});
}

TEST(MountedLayer, IsUnknownWhereNothingIsMounted) {
  EXPECT_FALSE(mounted_layer_in(""));
  EXPECT_FALSE(mounted_layer_in("1 2\n\n- - -\n36 35 98:0 /"));
}

}  // namespace
}  // namespace nutshell::init
