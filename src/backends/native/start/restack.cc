#include "backends/native/start/restack.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/native/files/workspace_mount.h"
#include "backends/native/filters/landlock.h"
#include "backends/native/start/enter.h"
#include "base/fault_point.h"
#include "base/file.h"
#include "base/socket.h"
#include "core/init_entry.h"
#include "core/layer_names.h"

namespace nutshell::native {
namespace {

// Locks the file by which init offers the new top layer (core/layer_names.h). The lock is held
// while the descriptor is open.
Result<UniqueFd> take_offer(int store, const std::string& name) {
  const auto withdrawn = [] {
    return failure(ErrorCode::Cancelled, "init does not offer these layers, or no longer does");
  };
  auto offer = open_at(store, name.c_str(), O_RDONLY | O_NOFOLLOW);
  if (!offer) return withdrawn();
  // Init locks the file only to withdraw the offer.
  if (::flock(offer->get(), LOCK_EX | LOCK_NB) != 0) return withdrawn();
  struct stat status {};
  if (::fstat(offer->get(), &status) != 0) return syscall_failure("stat", name);
  if (status.st_nlink == 0) return withdrawn();
  return std::move(*offer);
}

// The rules cover both the present /workspace and the new one: whenever this process is killed,
// init has rules for what is mounted.
Result<> send_rules(const RestackPlan& plan, int workspace) {
  PathRules wanted =
      sandbox_path_rules({plan.store, plan.base}, plan.memory_limiter, plan.unsafe_writable);
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
  TRY(show_workspace(workspace.get(), OldMount::Replaced));
  fault_point("restack.mounted");
  if (::unlinkat(plan.store, name.c_str(), 0) != 0) return syscall_failure("remove", name);
  return {};
}

}  // namespace

Result<SideProcess> begin_restack(const RestackPlan& plan) {
  TRY(check_layers(plan.layers));
  return SideProcess::start({plan.store, plan.mount_namespace, plan.base, plan.control},
                            [&plan] { return restack_here(plan); });
}

}  // namespace nutshell::native
