#include "backends/native/restack.h"

#include <fcntl.h>
#include <sched.h>

#include "backends/native/enter.h"
#include "backends/native/landlock.h"
#include "backends/native/workspace_mount.h"
#include "base/file.h"
#include "base/socket.h"
#include "core/init_entry.h"

namespace nutshell::native {
namespace {

Result<> restack_here(const RestackPlan& plan) {
  if (::setns(plan.mount_namespace, CLONE_NEWNS) != 0) return syscall_failure("setns", "mount");
  TRY(mount_workspace({plan.store, plan.base, plan.layers}, Standing::Replaced));
  if (!plan.has_rules) return {};
  const UniqueFd rules =
      TRY(make_path_rules(sandbox_path_rules({plan.store, plan.base}, plan.unsafe_writable)));
  return send_packet(plan.control, std::string_view(&kNewPathRules, 1), {rules.get()});
}

}  // namespace

Result<SideProcess> begin_restack(const RestackPlan& plan) {
  TRY(check_layers(plan.layers));
  return SideProcess::start({plan.store, plan.mount_namespace, plan.base, plan.control},
                            [&plan] { return restack_here(plan); });
}

}  // namespace nutshell::native
