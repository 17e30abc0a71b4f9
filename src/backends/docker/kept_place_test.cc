#include "backends/docker/kept_place.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::docker {
namespace {

constexpr const char* kEngine = "unix:///engine";

class KeptPlaceTest : public testing::Test {
 protected:
  KeptPlaceTest() {
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms::owner_all);
    ::setenv("NUTSHELL_RUNTIME_DIR", scratch_.path().c_str(), 1);
  }
  ~KeptPlaceTest() override { ::unsetenv("NUTSHELL_RUNTIME_DIR"); }
  [[nodiscard]] std::filesystem::path file_of(const std::string& id) const {
    return scratch_.path() / ("container-" + id + ".place");
  }
  ScratchDirectory scratch_;
};

TEST_F(KeptPlaceTest, FindsAProcessThatRuns) {
  ASSERT_TRUE(keep_process("a", kEngine, ::getpid()));
  const auto found = kept_process("a", kEngine);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, ::getpid());
  EXPECT_EQ(kept_process("a", "unix:///other").error().code, ErrorCode::NotFound);
  forget_place("a");
  EXPECT_EQ(kept_process("a", kEngine).error().code, ErrorCode::NotFound);
}

TEST_F(KeptPlaceTest, TellsALaterProcessOfTheSameNumberFromTheFirst) {
  ASSERT_TRUE(keep_process("a", kEngine, ::getpid()));
  auto bytes = read_file(file_of("a"));
  ASSERT_TRUE(bytes);
  // The record of a process that started at another moment: one byte of its start is different.
  const std::size_t start = bytes->find(kEngine) + std::string(kEngine).size() + 4;
  (*bytes)[start] = static_cast<char>((*bytes)[start] ^ 1);
  ASSERT_TRUE(write_file(file_of("a"), *bytes, 0600));
  EXPECT_EQ(kept_process("a", kEngine).error().code, ErrorCode::NotFound);
}

TEST_F(KeptPlaceTest, TakesHalfARecordForNone) {
  ASSERT_TRUE(keep_process("a", kEngine, ::getpid()));
  std::filesystem::resize_file(file_of("a"), std::filesystem::file_size(file_of("a")) - 1);
  EXPECT_EQ(kept_process("a", kEngine).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace nutshell::docker
