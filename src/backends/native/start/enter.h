// Turns a process that was just cloned into a sandbox, in a fixed order of named steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/native/files/rootfs.h"
#include "backends/native/filters/landlock.h"
#include "backends/native/filters/rlimits.h"
#include "backends/native/namespaces/name_sockets.h"
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
  int user_namespace = -1;     // from the pool; if -1, the process makes its own
  int network_namespace = -1;  // from the pool; if -1, it comes through late_pieces
  // A packet socket that brings what the parent makes while this process mounts its files: the
  // cgroup's join files, if has_late_cgroup, and the network namespace.
  int late_pieces = -1;
  int parent = -1;  // process descriptor of the parent; the sandbox ends with it
  bool has_late_cgroup = false;
  const RootTemplate* prepared_root = nullptr;  // may be null
  int mount_template = -1;  // a mount namespace made by enter_mount_template(); -1 for the host's
  bool is_root_staged = false;  // the template has the root mounted
  MemoryLimiter memory_limiter = MemoryLimiter::Cgroup;
  std::vector<int> cpus;             // the cores it is pinned to; empty for all
  std::span<char> command_line;      // the memory from which ps reads the command line
  bool is_without_landlock = false;  // unsafe; only if the caller asked for it
  Locks locks = Locks::Private;
  int workspace_base = -1;  // detached mount of the user's directory
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  std::vector<PlacedMount> unsafe_mounts;
  OwnPaths own_paths;                        // none if is_root_staged
  std::string project_in_tmp;                // as in PrivateRoot
  std::vector<std::string> unsafe_writable;  // targets of those that may be written to
  bool has_network = false;                  // its commands may connect, by a network policy
  bool is_restacked_later = false;           // its layers will change, and the rules with them
};

// Enters a new user namespace in which the caller, a plain user, is root.
Result<> enter_own_user_namespace(const HostIds& caller);

struct Entered {
  UniqueFd oom_events;       // if the cgroup came late
  UniqueFd store;            // the hidden root of the scratch file system
  UniqueFd copied_base;      // with which a copied workspace is compared
  std::string why_copied;    // empty if the workspace is no copy
  UniqueFd user_counts;      // until the sandbox's user namespace has its bounds
  UniqueFd path_rules;       // with is_restacked_later: by which init restricts itself
  UniqueFd mount_namespace;  // with is_restacked_later
  NameSockets name_sockets;  // with has_network
};
Result<Entered> enter_sandbox(const EnterPlan& plan);

struct HiddenDirectories {
  int store = -1;
  int base = -1;
};
// Returns the Landlock rules for the present mounts of a sandbox, for a process in its root.
PathRules sandbox_path_rules(const HiddenDirectories& hidden, MemoryLimiter limiter,
                             const std::vector<std::string>& unsafe_writable);

// Sends what enter_sandbox() waits for with has_late_cgroup; oom_events may be -1.
Result<> send_late_cgroup(int late_pieces, std::span<const int> joins, int oom_events);

}  // namespace nutshell::native
