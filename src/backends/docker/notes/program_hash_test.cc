#include "backends/docker/notes/program_hash.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/sha256.h"

namespace nutshell::docker {
namespace {

constexpr std::size_t kMost = 1U << 20U;

class ProgramHashTest : public testing::Test {
 protected:
  ProgramHashTest() {
    ::setenv("NUTSHELL_RUNTIME_DIR", (scratch_ / "run").c_str(), 1);  // one thread
  }
  ~ProgramHashTest() override { ::unsetenv("NUTSHELL_RUNTIME_DIR"); }

  std::string hash(const char* name = "program") {
    const auto found = hash_of_file(scratch_ / name, kMost);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or("");
  }
  void put(const std::string& text, const char* name = "program") {
    ASSERT_TRUE(write_file(scratch_ / name, text));
  }

  ScratchDirectory scratch_;
};

TEST_F(ProgramHashTest, IsTheSha256OfTheFile) {
  put("one");
  EXPECT_EQ(hash(), sha256_hex("one"));
  EXPECT_EQ(hash(), sha256_hex("one"));
}

TEST_F(ProgramHashTest, FollowsEveryChange) {
  for (int i = 0; i < 200; ++i) {  // of one length, and within one tick of the clock
    const std::string text = std::to_string(1000 + i);
    put(text);
    ASSERT_EQ(hash(), sha256_hex(text));
  }
}

TEST_F(ProgramHashTest, NoticesAReplacementWithOldTimes) {
  put("one");
  (void)hash();
  put("two", "other");
  const timespec old[2] = {{1000, 0}, {1000, 0}};  // NOLINT(modernize-avoid-c-arrays): the kernel's
  ASSERT_EQ(::utimensat(AT_FDCWD, (scratch_ / "other").c_str(), old, 0), 0);
  std::filesystem::rename(scratch_ / "other", scratch_ / "program");
  EXPECT_EQ(hash(), sha256_hex("two"));
}

TEST_F(ProgramHashTest, IgnoresANoteThatDoesNotDecode) {
  put("one");
  (void)hash();
  for (const std::string& text : {std::string(), std::string("x"), std::string(200, '\xff')}) {
    ASSERT_TRUE(write_file(scratch_ / "run/init.hash", text));
    EXPECT_EQ(hash(), sha256_hex("one"));
  }
}

TEST_F(ProgramHashTest, RefusesAFileThatIsTooLong) {
  put(std::string(kMost + 1, 'a'));
  EXPECT_FALSE(hash_of_file(scratch_ / "program", kMost));
  EXPECT_FALSE(hash_of_file(scratch_ / "missing", kMost));
}

}  // namespace
}  // namespace nutshell::docker
