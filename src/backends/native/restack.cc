#include "backends/native/restack.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/native/enter.h"
#include "backends/native/landlock.h"
#include "backends/native/workspace_mount.h"
#include "base/file.h"
#include "base/socket.h"
#include "core/init_entry.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr auto kRestackTime = 10s;
constexpr char kDone = '+';

Result<> restack_here(const RestackPlan& plan) {
  if (::setns(plan.mount_namespace, CLONE_NEWNS) != 0) return syscall_failure("setns", "mount");
  TRY(mount_workspace({plan.store, plan.base, plan.layers}, Standing::Replaced));
  if (!plan.has_rules) return {};
  const UniqueFd rules = TRY(make_path_rules(
      sandbox_path_rules({plan.store, plan.base}, plan.memory_wall, plan.unsafe_writable)));
  return send_packet(plan.control, std::string_view(&kNewPathRules, 1), {rules.get()});
}

}  // namespace

Result<> restack(const RestackPlan& plan) {
  TRY(check_layers(plan.layers));
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Packets));
  const pid_t child = ::fork();
  if (child < 0) return syscall_failure("fork");
  if (child == 0) {
    auto done = restack_here(plan);
    const std::string answer =
        done ? std::string(1, kDone) : static_cast<char>(done.error().code) + done.error().message;
    (void)send_packet(theirs.get(), answer);  // nobody waits any more
    ::_exit(0);
  }
  theirs.reset();
  auto answer = receive_packet(ours.get(), Deadline::in(kRestackTime));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!answer) return while_doing("stack the layers", std::move(answer).error());
  if (answer->bytes.empty()) return failure(ErrorCode::Internal, "stack the layers: it died");
  if (answer->bytes[0] == kDone) return {};
  return while_doing("stack the layers",
                     {static_cast<ErrorCode>(answer->bytes[0]), answer->bytes.substr(1)});
}

}  // namespace nutshell::native
