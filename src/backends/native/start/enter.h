// Turns a freshly cloned process into a sandbox, in a fixed order of named steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/native/files/rootfs.h"
#include "backends/native/filters/landlock.h"
#include "backends/native/filters/rlimits.h"
#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/limits.h"

namespace nutshell::native {

struct EnterPlan {
  Privilege privilege = Privilege::Rootless;
  HostIds ids;
  std::string image;
  Limits limits;
  std::span<const int> cgroup_joins;
  int user_namespace = -1;     // a pooled one; -1: it makes its own
  int network_namespace = -1;  // a pooled one; -1: it is a late piece
  // Packet socket through which pieces come that are made while we mount: the cgroup's join files,
  // if has_late_cgroup, and the network namespace.
  int late_pieces = -1;
  int parent = -1;  // who starts it, as a process descriptor: the sandbox ends with that process
  bool has_late_cgroup = false;
  const RootTemplate* prepared_root = nullptr;  // null: there is none
  int workshop = -1;            // a mount namespace left by enter_workshop; -1: the host's
  bool is_root_staged = false;  // the workshop has the root mounted
  MemoryWall memory_wall = MemoryWall::Cgroup;
  std::vector<int> cpus;             // pinned to these, where affinity is the CPU limit
  std::span<char> command_line;      // where ps would show the host's command line
  bool is_without_landlock = false;  // unsafe, asked for by name
  Locks locks = Locks::Private;
  int workspace_base = -1;  // detached mount that /workspace begins as
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  std::vector<PlacedMount> unsafe_mounts;
  std::vector<std::string> unsafe_writable;  // targets of those that may be written to
  bool is_restacked_later = false;           // its layers change: the rules cannot be final yet
};

// A user namespace that a plain user is root of: where everything else is made from.
Result<> enter_own_user_namespace(const HostIds& caller);

struct Entered {
  UniqueFd oom_events;       // came with a late cgroup
  UniqueFd store;            // the hidden root of the scratch file system
  UniqueFd copied_base;      // what a copied workspace is compared with
  std::string why_copied;    // empty: it was not
  UniqueFd user_counts;      // until the sandbox's user namespace has its bounds
  UniqueFd path_rules;       // with is_restacked_later: init's own to restrict itself by
  UniqueFd mount_namespace;  // with is_restacked_later
};
Result<Entered> enter_sandbox(const EnterPlan& plan);

// The Landlock rules of a sandbox as it is now, for a process that has its root.
struct HiddenDirectories {
  int store = -1;
  int base = -1;
};
PathRules sandbox_path_rules(const HiddenDirectories& hidden, MemoryWall wall,
                             const std::vector<std::string>& unsafe_writable);

// What enter_sandbox waits for with has_late_cgroup. Without oom_events: -1.
Result<> send_late_cgroup(int late_pieces, std::span<const int> joins, int oom_events);

}  // namespace nutshell::native
