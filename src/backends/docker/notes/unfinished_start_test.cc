#include "backends/docker/notes/unfinished_start.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "backends/docker/notes/notes_fixture.h"

namespace nutshell::docker {
namespace {

class UnfinishedStartTest : public NotesTest {
 protected:
  [[nodiscard]] std::size_t count_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(scratch_.path()), {}));
  }
  // Does what a maker does that is killed after it began.
  static void begin_and_die(const char* engine, const char* container) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto begun = UnfinishedStart::begin(engine, container);
      ::_exit(begun ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
};

TEST_F(UnfinishedStartTest, IsNotAbandonedWhileItsMakerLives) {
  std::optional<UnfinishedStart> start;
  auto begun = UnfinishedStart::begin("engine", "nutshell-a");
  ASSERT_TRUE(begun) << begun.error().message;
  start.emplace(std::move(*begun));
  EXPECT_TRUE(abandoned_starts("engine").empty());
  EXPECT_EQ(count_files(), 1U);
  start.reset();
  EXPECT_EQ(count_files(), 0U);
}

TEST_F(UnfinishedStartTest, IsReportedOnlyToItsEngineOnceItsMakerIsDead) {
  begin_and_die("engine", "nutshell-a");
  EXPECT_EQ(abandoned_starts("engine"), std::vector<std::string>{"nutshell-a"});
  EXPECT_TRUE(abandoned_starts("another").empty());
}

TEST_F(UnfinishedStartTest, YoungNoteStaysUntilTheEngineCannotMakeTheContainerAnyMore) {
  begin_and_die("engine", "nutshell-a");
  settle_abandoned_start("nutshell-a");
  EXPECT_EQ(abandoned_starts("engine").size(), 1U);
}

TEST_F(UnfinishedStartTest, OldNoteOfAnEngineThatNobodyCallsGoes) {
  begin_and_die("gone", "nutshell-a");
  EXPECT_TRUE(abandoned_starts("engine").empty());
  EXPECT_EQ(count_files(), 1U);
  const auto file = scratch_.path() / "nutshell-a.starting";
  std::filesystem::last_write_time(file,
                                   std::filesystem::last_write_time(file) - std::chrono::hours(25));
  EXPECT_TRUE(abandoned_starts("engine").empty());
  EXPECT_EQ(count_files(), 0U);
}

}  // namespace
}  // namespace nutshell::docker
