#include "api_client/bridge.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "base/defer.h"
#include "base/socket.h"
#include "base/spawn_attributes.h"

namespace nutshell::api {

void Bridges::forget_ended() {
  std::erase_if(children_, [](ChildProcess& child) {
    const auto ended = child.wait(Deadline::in(std::chrono::seconds(0)));
    return ended && ended->has_value();
  });
}

Result<UniqueFd> Bridges::open(const std::string& url) {
  forget_ended();
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  std::string program = program_.native();
  std::string option = "--bridge";
  std::string place = url;
  std::array<char*, 4> argv{program.data(), option.data(), place.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const Defer freed([&] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  // An interrupt at the terminal is for the command, which goes on talking through this.
  const SpawnAttributes attributes(SpawnAttributes::Session::Own);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, attributes.get(), argv.data(), environ);
  if (error != 0) return syscall_failure(error, "start", program);
  children_.emplace_back(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
  return std::move(ours);
}

}  // namespace nutshell::api
