#include "backends/docker/notes/sandbox_notes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/docker/notes/notes_fixture.h"
#include "base/file.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;
using containers::milliseconds_now;

constexpr const char* kEngine = "unix:///engine";

class SandboxNotesTest : public NotesTest {
 protected:
  [[nodiscard]] std::filesystem::path process_file(const std::string& id) const {
    return scratch_.path() / ("container-" + id + ".process");
  }
};

TEST_F(SandboxNotesTest, ReturnTheClockThatWasKept) {
  EXPECT_FALSE(kept_clock("a"));
  const auto now = milliseconds_now();
  ASSERT_TRUE(keep_clock("a", {now + 5s}));
  EXPECT_FALSE(kept_clock("a")->left);
  EXPECT_EQ(kept_clock("a")->expires_at, now + 5s);
  ASSERT_TRUE(keep_clock("a", {now + 24h, 0ms}));
  EXPECT_EQ(kept_clock("a")->left, std::chrono::milliseconds(0));
  ASSERT_TRUE(keep_clock("a", {now + 24h, 7s, true}));
  EXPECT_TRUE(kept_clock("a")->is_paused);
  EXPECT_EQ(kept_clock("a")->left, std::chrono::milliseconds(7s));
  forget_sandbox("a");
  EXPECT_FALSE(kept_clock("a"));
}

TEST_F(SandboxNotesTest, AreSweptOnceTheSandboxIsOver) {
  const auto now = milliseconds_now();
  for (const char* id : {"over", "lives"})
    ASSERT_TRUE(keep_environment(id, kEngine, {"SECRET=x"}));
  ASSERT_TRUE(keep_clock("over", {now - 2min}));
  ASSERT_TRUE(keep_clock("lives", {now + 1s}));
  std::ofstream(scratch_ / "container-odd.clock") << "no clock";
  SweepReport tried;
  sweep_sandbox_notes(SweepMode::DryRun, tried);
  EXPECT_EQ(tried.removed.size(), 1U);
  EXPECT_TRUE(kept_environment("over"));
  SweepReport report;
  sweep_sandbox_notes(SweepMode::Remove, report);
  EXPECT_EQ(report.removed, tried.removed);
  EXPECT_FALSE(kept_environment("over"));
  EXPECT_FALSE(kept_clock("over"));
  EXPECT_TRUE(kept_environment("lives"));
  EXPECT_TRUE(kept_clock("lives"));
}

TEST_F(SandboxNotesTest, ListTheSandboxesOfOneEngine) {
  ASSERT_TRUE(keep_environment("a", kEngine, {}));
  ASSERT_TRUE(keep_environment("b", "unix:///other", {}));
  EXPECT_EQ(ids_with_environments(kEngine), std::vector<std::string>{"a"});
}

TEST_F(SandboxNotesTest, FindAProcessThatRuns) {
  ASSERT_TRUE(keep_process("a", kEngine, ::getpid()));
  const auto found = kept_process("a", kEngine);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, ::getpid());
  EXPECT_EQ(kept_process("a", "unix:///other").error().code, ErrorCode::NotFound);
  forget_sandbox("a");
  EXPECT_EQ(kept_process("a", kEngine).error().code, ErrorCode::NotFound);
}

TEST_F(SandboxNotesTest, TellALaterProcessOfTheSameNumberFromTheFirst) {
  ASSERT_TRUE(keep_process("a", kEngine, ::getpid()));
  auto bytes = read_file(process_file("a"));
  ASSERT_TRUE(bytes);
  // Changes one byte of the start time, as if the process had started at another moment.
  const std::size_t start = bytes->find(kEngine) + std::string(kEngine).size() + 4;
  (*bytes)[start] = static_cast<char>((*bytes)[start] ^ 1);
  ASSERT_TRUE(write_file(process_file("a"), *bytes, 0600));
  EXPECT_EQ(kept_process("a", kEngine).error().code, ErrorCode::NotFound);
}

TEST_F(SandboxNotesTest, HalfARecordCountsAsNone) {
  ASSERT_TRUE(keep_process("a", kEngine, ::getpid()));
  std::filesystem::resize_file(process_file("a"),
                               std::filesystem::file_size(process_file("a")) - 1);
  EXPECT_EQ(kept_process("a", kEngine).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace nutshell::docker
