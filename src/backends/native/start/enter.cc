#include "backends/native/start/enter.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/files/rootfs.h"
#include "backends/native/filters/capabilities.h"
#include "backends/native/filters/landlock.h"
#include "backends/native/filters/seccomp.h"
#include "backends/native/namespaces/id_map.h"
#include "backends/native/namespaces/network_namespace.h"
#include "backends/native/namespaces/user_counts.h"
#include "backends/native/namespaces/user_namespace.h"
#include "base/file.h"
#include "base/parent_death.h"
#include "base/seccomp_filter.h"
#include "base/socket.h"

namespace nutshell::native {
namespace {

constexpr const char* kHostname = "nutshell";
constexpr auto kPieceTime = std::chrono::seconds(20);
constexpr std::string_view kJoins = "joins";
constexpr std::string_view kJoinsAndEvents = "joins, oom events";

Result<Packet> receive_piece(const EnterPlan& plan, std::string_view name) {
  std::array<pollfd, 2> watched = {pollfd{plan.late_pieces, POLLIN, 0},
                                   pollfd{plan.parent, POLLIN, 0}};
  const Deadline deadline = Deadline::in(kPieceTime);
  while (::poll(watched.data(), watched.size(), deadline.poll_timeout()) < 0 && errno == EINTR) {
  }
  if (watched[1].revents != 0) ::_exit(1);  // the parent has died
  Packet packet = TRY(receive_packet(plan.late_pieces, deadline));
  if (packet.descriptors.empty())
    return failure(ErrorCode::Internal, std::string(name) + ": " + packet.bytes);
  return packet;
}

// Called before any code of the sandbox runs; what was mounted before is not charged to it.
Result<> join_cgroups(const EnterPlan& plan, Entered& entered) {
  Packet late;
  std::vector<int> joins(plan.cgroup_joins.begin(), plan.cgroup_joins.end());
  if (plan.has_late_cgroup) {
    late = TRY(receive_piece(plan, "cgroup"));
    if (late.bytes == kJoinsAndEvents) {
      entered.oom_events = std::move(late.descriptors.back());
      late.descriptors.pop_back();
    }
    for (const UniqueFd& join : late.descriptors)
      joins.push_back(join.get());
  }
  const int error = Cgroup::join_by(joins);
  if (error != 0) return syscall_failure(error, "join the sandbox's cgroups");
  if (::unshare(CLONE_NEWCGROUP) != 0) return syscall_failure("unshare", "cgroup");
  return {};
}

Result<> enter_network(const EnterPlan& plan, Entered& entered) {
  UniqueFd made;
  int fd = plan.network_namespace;
  if (fd < 0) {
    Packet packet = TRY(receive_piece(plan, "network"));
    made = std::move(packet.descriptors.front());
    fd = made.get();
  }
  if (::setns(fd, CLONE_NEWNET) != 0) return syscall_failure("setns", "network");
  if (plan.has_network) entered.name_sockets = TRY(open_name_sockets());
  return {};
}

Result<> enter_root(const EnterPlan& plan, Entered& entered) {
  if (plan.mount_template >= 0 && ::setns(plan.mount_template, CLONE_NEWNS) != 0) {
    return syscall_failure("setns", "mount");
  }
  if (::unshare(CLONE_NEWNS) != 0) return syscall_failure("unshare", "mount");
  TRY(enter_own_root({plan.image, plan.privilege, plan.prepared_root, plan.locks,
                      plan.is_root_staged, plan.own_paths, plan.has_network}));
  const HostIds owner = plan.privilege == Privilege::Root ? plan.ids : HostIds{0, 0};
  PrivateParts parts =
      TRY(mount_private_parts({plan.privilege, owner, plan.limits, plan.workspace_base,
                               plan.workspace_mode, plan.unsafe_mounts, plan.project_in_tmp,
                               plan.parent, plan.has_network && plan.image.empty()}));
  entered.store = std::move(parts.store);
  entered.copied_base = std::move(parts.copied_base);
  entered.why_copied = std::move(parts.why_copied);
  entered.user_counts = std::move(parts.user_counts);
  if (plan.is_restacked_later) {
    entered.mount_namespace = TRY(open_file("/proc/self/ns/mnt", O_RDONLY));
  }
  return {};
}

Result<> name_host() {
  if (::sethostname(kHostname, std::strlen(kHostname)) != 0) return syscall_failure("sethostname");
  if (::setdomainname("", 0) != 0) return syscall_failure("setdomainname");
  return {};
}

Result<> pin_to_cpus(const EnterPlan& plan) {
  if (plan.cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : plan.cpus)
    CPU_SET(static_cast<unsigned>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) return syscall_failure("sched_setaffinity");
  return {};
}

// A plain user's process is root of its user namespace and makes the next one as root.
Result<> make_user_namespace(const EnterPlan& plan) {
  if (plan.privilege == Privilege::Root) return enter_user_namespace_of(plan.ids);
  if (::unshare(CLONE_NEWUSER) != 0) return syscall_failure("unshare", "user");
  return write_id_map("/proc/self", {kSandboxUser, 0, kSandboxGroup, 0});
}

// Enters the last user namespace. The sandbox is user 1000 there and has no rights over its mounts
// and network, which belong to the user namespace outside.
Result<> become_sandbox_user(const EnterPlan& plan, Entered& entered) {
  if (plan.privilege == Privilege::Root && ::setgroups(0, nullptr) != 0) {
    return syscall_failure("setgroups");
  }
  if (plan.user_namespace < 0) {
    TRY(make_user_namespace(plan));
  } else if (::setns(plan.user_namespace, CLONE_NEWUSER) != 0) {
    return syscall_failure("setns", "user");
  }
  if (plan.privilege == Privilege::Rootless) {
    TRY(bound_inotify(entered.user_counts, Share::OfOneSandbox));
  }
  entered.user_counts.reset();
  if (::setresgid(kSandboxGroup, kSandboxGroup, kSandboxGroup) != 0 ||
      ::setresuid(kSandboxUser, kSandboxUser, kSandboxUser) != 0) {
    return syscall_failure("become the sandbox's user");
  }
  return {};
}

// From here on no process of the sandbox can read init's memory, and init ends with its parent.
Result<> guard_init(const EnterPlan& plan) {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return syscall_failure("set not dumpable");
  TRY(die_with_parent(plan.parent));
  constexpr std::string_view kName = "init";
  if (plan.command_line.size() > kName.size()) {
    std::memset(plan.command_line.data(), 0, plan.command_line.size());
    std::memcpy(plan.command_line.data(), kName.data(), kName.size());
  }
  // Wipes the caller's environment, which this process has a copy of.
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    ::explicit_bzero(*variable, std::strlen(*variable));
  environ = nullptr;
  return {};
}

// The rules do not cover what is mounted later, and rules can never be widened. So if layers will
// change, init keeps one idle thread without rules, which makes a restricted thread after each
// change. The restricted thread does everything else and starts the commands.
Result<> restrict_sandbox_paths(const EnterPlan& plan, Entered& entered) {
  if (plan.is_without_landlock) return {};
  // A directory that was copied is no longer needed.
  const int base = entered.copied_base ? -1 : plan.workspace_base;
  UniqueFd rules = TRY(make_path_rules(
      sandbox_path_rules({entered.store.get(), base}, plan.memory_limiter, plan.unsafe_writable)));
  if (!plan.is_restacked_later) return restrict_by(rules);
  entered.path_rules = std::move(rules);
  return {};
}

}  // namespace

Result<> enter_own_user_namespace(const HostIds& caller) {
  if (::unshare(CLONE_NEWUSER) != 0) return syscall_failure("unshare", "user");
  return write_id_map("/proc/self", {0, caller.user, 0, caller.group});
}

Result<> send_late_cgroup(int late_pieces, std::span<const int> joins, int oom_events) {
  std::vector<int> descriptors(joins.begin(), joins.end());
  if (oom_events >= 0) descriptors.push_back(oom_events);
  return send_packet(late_pieces, oom_events >= 0 ? kJoinsAndEvents : kJoins, descriptors);
}

PathRules sandbox_path_rules(const HiddenDirectories& hidden, MemoryLimiter limiter,
                             const std::vector<std::string>& unsafe_writable) {
  PathRules rules{.writable = {"/workspace", "/tmp"}, .devices = {"/dev"}};
  // Init cannot count the memory of a shared mapping of /dev/zero, which needs it open for writing.
  // So /dev/zero can only be read.
  if (limiter == MemoryLimiter::PerProcess) {
    rules.devices = {"/dev/null",    "/dev/full", "/dev/random",
                     "/dev/urandom", "/dev/tty",  "/dev/pts"};
  }
  rules.writable.insert(rules.writable.end(), unsafe_writable.begin(), unsafe_writable.end());
  if (hidden.store >= 0) rules.hidden_writable.push_back(hidden.store);
  if (hidden.base >= 0) rules.hidden_readable.push_back(hidden.base);
  return rules;
}

// The kernel dictates the order: each step needs what a later one takes away.
Result<Entered> enter_sandbox(const EnterPlan& plan) {
  // guard_init() does it again, because a change of user clears the parent-death signal.
  TRY(die_with_parent(plan.parent));
  Entered entered;
  TRY(enter_root(plan, entered));
  if (plan.has_late_cgroup) TRY(join_cgroups(plan, entered));  // while the network is made
  TRY(enter_network(plan, entered));
  TRY(name_host());
  TRY(pin_to_cpus(plan));
  TRY(apply_rlimits(plan.limits, plan.memory_limiter, plan.privilege));
  TRY(become_sandbox_user(plan, entered));
  TRY(limit_processes(plan.limits));
  TRY(empty_bounding_set());
  // Joined late, because in a cgroup with limits the kernel charges every object that it makes, and
  // emptying the bounding set alone makes forty.
  if (!plan.has_late_cgroup) TRY(join_cgroups(plan, entered));
  TRY(drop_capabilities());
  TRY(guard_init(plan));
  TRY(set_no_new_privileges());
  TRY(restrict_sandbox_paths(plan, entered));
  // Last: it forbids the calls used above.
  TRY(filter_system_calls(plan.has_network ? ForNetwork::Yes : ForNetwork::No));
  return entered;
}

}  // namespace nutshell::native
