#include "backends/native/restack.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/native/enter.h"
#include "backends/native/landlock.h"
#include "backends/native/workspace_mount.h"
#include "base/fault_point.h"
#include "base/file.h"
#include "base/socket.h"
#include "core/init_entry.h"
#include "core/layer_names.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr auto kRestackTime = 10s;
constexpr char kDone = '+';

// Takes up init's offer of the new top layer (core/layer_names.h); the lock is held while the
// descriptor is open.
Result<UniqueFd> take_offer(int store, const std::string& name) {
  const auto withdrawn = [] {
    return failure(ErrorCode::Cancelled, "init does not offer these layers, or no longer does");
  };
  auto offer = open_at(store, name.c_str(), O_RDONLY | O_NOFOLLOW);
  if (!offer) return withdrawn();
  // Init holds it for a moment, and only to withdraw it.
  if (::flock(offer->get(), LOCK_EX | LOCK_NB) != 0) return withdrawn();
  struct stat status {};
  if (::fstat(offer->get(), &status) != 0) return syscall_failure("stat", name);
  if (status.st_nlink == 0) return withdrawn();
  return std::move(*offer);
}

// Covers what /workspace is now and what it is about to be: wherever this process is killed, init
// has rules for what it finds there.
Result<> send_rules(const RestackPlan& plan, int workspace) {
  PathRules wanted = sandbox_path_rules({plan.store, plan.base}, plan.unsafe_writable);
  wanted.mounted_later.push_back(workspace);
  const UniqueFd rules = TRY(make_path_rules(wanted));
  return send_packet(plan.control, std::string_view(&kNewPathRules, 1), {rules.get()});
}

Result<> restack_here(const RestackPlan& plan) {
  if (::setns(plan.mount_namespace, CLONE_NEWNS) != 0) return syscall_failure("setns", "mount");
  const std::string name = plan.layers.back() + kOfferSuffix;
  const UniqueFd offer = TRY(take_offer(plan.store, name));
  fault_point("restack.taken");
  const UniqueFd workspace = TRY(make_workspace({plan.store, plan.base, plan.layers}));
  fault_point("restack.made");
  if (plan.has_rules) TRY(send_rules(plan, workspace.get()));
  fault_point("restack.ruled");
  TRY(show_workspace(workspace.get(), Standing::Replaced));
  fault_point("restack.mounted");
  if (::unlinkat(plan.store, name.c_str(), 0) != 0) return syscall_failure("remove", name);
  return {};
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
