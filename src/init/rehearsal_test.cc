#include "init/rehearsal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "init/exec/pid_namespace_fixture.h"
#include "init/init_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

auto count_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class RehearsalTest : public PidNamespaceTest {};

TEST_F(RehearsalTest, LeavesNoProcessAndNoDescriptor) {
  auto started = start_in_pid_namespace([] {
    const auto before = count_descriptors();
    rehearse();
    if (count_descriptors() != before) return 1;
    return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 0 : 2;
  });
  ASSERT_TRUE(started) << started.error().message;
  const auto status = started->wait(Deadline::in(20s));
  ASSERT_TRUE(status && *status);
  EXPECT_EQ(**status, 0);
}

// Runs init in a process that rehearsed before.
class RehearsedInitTest : public InitTest {
 protected:
  void configure(InitSetup& /*setup*/) override { rehearse(); }
};

TEST_F(RehearsedInitTest, RunsCommandsAsAnyOther) {
  const Captured captured = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(captured.output, "out\n");
  EXPECT_EQ(captured.error, "err\n");
  EXPECT_EQ(captured.result.exit_code, 3);
}

}  // namespace
}  // namespace nutshell::init
