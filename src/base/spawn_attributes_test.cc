#include "base/spawn_attributes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/signal_fixture.h"

namespace nutshell {
namespace {

// What a child that is started so finds in its /proc/self/status.
std::string status_of_child(const posix_spawnattr_t* attributes) {
  const ScratchDirectory scratch;
  const std::string output = scratch / "status";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT,
                                   0600);
  std::string program = "/bin/cat";
  std::string file = "/proc/self/status";
  std::array<char*, 3> argv{program.data(), file.data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawn(&pid, program.c_str(), &actions, attributes, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  return read_file(output).value_or("");
}

TEST(SpawnAttributes, GiveAChildNoneOfOurSignals) {
  const DaemonSignals daemon;
  const std::string without = status_of_child(nullptr);
  ASSERT_NE(signals_in(without, "SigBlk:"), 0U) << without;
  expect_clean_signals(status_of_child(SpawnAttributes().get()));
}

TEST(SpawnAttributes, LeaveIgnoredWhatOthersIgnore) {
  void (*const before)(int) = std::signal(SIGHUP, SIG_IGN);
  const std::string status = status_of_child(SpawnAttributes().get());
  std::signal(SIGHUP, before);
  EXPECT_NE(signals_in(status, "SigIgn:") & (1ULL << (SIGHUP - 1U)), 0U) << status;
}

}  // namespace
}  // namespace nutshell
