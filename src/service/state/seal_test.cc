#include "service/state/seal.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::service {
namespace {

namespace fs = std::filesystem;

class SealTest : public testing::Test {
 protected:
  Seal open() {
    auto seal = Seal::open(scratch_ / "key");
    EXPECT_TRUE(seal) << seal.error().message;
    return *seal;
  }
  ScratchDirectory scratch_;
};

TEST_F(SealTest, OpensWhatItClosedAlsoAfterARestart) {
  const std::string text = "TOKEN=secret\0and a NUL";
  const std::string sealed = *open().close(text, "a session");
  EXPECT_TRUE(Seal::is_sealed(sealed));
  EXPECT_EQ(sealed.find("secret"), std::string::npos);
  EXPECT_EQ(*open().open_text(sealed, "a session"), text);
  EXPECT_EQ(*open().open_text(*open().close("", "x"), "x"), "");
  EXPECT_NE(*open().close(text, "a session"), sealed);  // a nonce of its own each time
}

TEST_F(SealTest, RefusesWhatWasChangedOrBelongsElsewhere) {
  const Seal seal = open();
  std::string sealed = *seal.close("text", "alice");
  EXPECT_FALSE(seal.open_text(sealed, "bob"));
  EXPECT_FALSE(seal.open_text("text", "alice"));
  EXPECT_FALSE(seal.open_text("sealed:1:", "alice"));
  sealed[sealed.size() - 6] = sealed[sealed.size() - 6] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(seal.open_text(sealed, "alice"));
}

TEST_F(SealTest, KeepsItsKeyToItself) {
  open();
  EXPECT_EQ(fs::status(scratch_ / "key").permissions() & fs::perms::mask,
            fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(scratch_ / "key", fs::perms::group_read, fs::perm_options::add);
  EXPECT_FALSE(Seal::open(scratch_ / "key"));
}

TEST_F(SealTest, RefusesHalfAKey) {
  ASSERT_TRUE(write_file(scratch_ / "key", "short", 0600));
  EXPECT_FALSE(Seal::open(scratch_ / "key"));
}

}  // namespace
}  // namespace nutshell::service
