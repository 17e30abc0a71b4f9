#include "core/sandbox_id.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

TEST(SandboxId, BeginsWithTheLetterOfItsBackend) {
  const std::string id = new_sandbox_id('g');
  EXPECT_EQ(id.front(), 'g');
  EXPECT_TRUE(is_sandbox_id(id)) << id;
  EXPECT_NE(id, new_sandbox_id('g'));
}

TEST(SandboxId, IsOneLetterAndTwelveHexadecimalDigits) {
  EXPECT_TRUE(is_sandbox_id("n3f9c0a11b2d4"));
  for (const char* text :
       {"", "n", "3f9c0a11b2d4", "03f9c0a11b2d4", "n3f9c0a11b2d", "n3f9c0a11b2d45", "nxf9c0a11b2d4",
        "N3f9c0a11b2d4", "../../../etc/x", "n3f9c0a11b2d/"})
    EXPECT_FALSE(is_sandbox_id(text)) << text;
}

TEST(SandboxId, MayBeShortenedToThreeCharacters) {
  EXPECT_TRUE(is_sandbox_id_beginning("n3f"));
  EXPECT_TRUE(is_sandbox_id_beginning("n3f9c0a11b2d4"));
  for (const char* text : {"", "n3", "123", "n..", "n3f9c0a11b2d45"})
    EXPECT_FALSE(is_sandbox_id_beginning(text)) << text;
}

}  // namespace
}  // namespace nutshell
