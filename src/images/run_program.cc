#include "images/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/spawn_attributes.h"

namespace nutshell::images {
namespace {

constexpr std::size_t kMostOutput = 4U << 20U;

Result<std::string> text_in(int file) {
  if (::lseek(file, 0, SEEK_SET) != 0) return syscall_failure("seek");
  return read_all(file, kMostOutput);
}

Result<ChildProcess> spawn(const Command& command, int output, int errors) {
  std::vector<std::string> words = command.words;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const Defer freed([&] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  const SpawnAttributes attributes;
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, words.front().c_str(), &actions, attributes.get(),
                                   arguments.data(), environ);
  if (error != 0) return syscall_failure(error, "start", words.front());
  return ChildProcess(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
}

}  // namespace

Result<std::string> run_program(const Command& command) {
  const UniqueFd output(::memfd_create("output", MFD_CLOEXEC));
  const UniqueFd errors(::memfd_create("errors", MFD_CLOEXEC));
  if (!output || !errors) return syscall_failure("memfd_create");
  ChildProcess child = TRY(spawn(command, output.get(), errors.get()));
  const auto status = TRY(child.wait(command.deadline));
  if (!status) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("{} takes too long", command.words.front()));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return text_in(output.get());
  std::string said = TRY(text_in(errors.get()));
  constexpr std::size_t kShown = 2000;
  if (said.size() > kShown) said.erase(0, said.size() - kShown);
  return failure(ErrorCode::Unavailable, fmt::format("{} failed: {}", command.words.front(), said));
}

}  // namespace nutshell::images
