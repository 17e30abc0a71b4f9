#include "base/process_start.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nutshell {
namespace {

TEST(ProcessStart, StaysTheSameWhileItRuns) {
  const auto own = static_cast<std::uint32_t>(::getpid());
  const auto start = start_of_process(own);
  ASSERT_TRUE(start);
  EXPECT_GT(*start, 0U);
  EXPECT_EQ(start_of_process(own), start);
}

TEST(ProcessStart, IsUnknownOnceTheProcessHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(start_of_process(static_cast<std::uint32_t>(child)));  // it waits for its parent
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(start_of_process(0));
}

}  // namespace
}  // namespace nutshell
