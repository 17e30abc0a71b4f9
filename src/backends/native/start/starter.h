// Starts native sandboxes by cloning this process, which has one thread. The launcher makes parts
// of sandboxes ahead and uses them again; a one-shot run makes each part once.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <string>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/namespaces/network_namespace.h"
#include "backends/native/namespaces/privilege.h"
#include "backends/native/namespaces/user_namespace.h"
#include "backends/native/processes/side_process.h"
#include "backends/native/start/abilities.h"
#include "backends/native/start/enter.h"
#include "backends/native/start/parts_pool.h"
#include "backends/native/start/staged_roots.h"
#include "base/child_process.h"
#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/init_entry.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

// Detached mounts of the host's directories that a sandbox sees.
struct HostDirectories {
  UniqueFd base;           // of the user's directory, which /workspace shows
  UniqueFd base_to_stack;  // a second mount of it, which the start attaches
  std::vector<UniqueFd> unsafe_mounts;
  std::vector<UniqueFd> shown;  // of the spec's mounts, until the sandbox has them
};

// A running sandbox and the parts that belong to it alone.
struct NativeSandbox {
  ChildProcess init;
  UniqueFd control;  // sends connections to init, which ends when it is closed
  UniqueFd stream;   // the first connection, until connect() takes it
  UniqueFd report;   // brings the answer whether it has started
  HostIds ids;
  std::optional<UserNamespace> user;  // pooled
  std::uint32_t init_threads = 1;
  std::optional<Cgroup> cgroup;
  bool is_only_limited = false;  // not in the directories of `cgroup` that only freeze and count
  std::optional<NetworkNamespace> network;  // pooled
  std::optional<StagedRoot> root;           // pooled; nullopt if it mounted its root itself
  UniqueFd late_pieces;                     // while it starts without a pool
  HostDirectories directories;
  // Needed to change its layers; closed if it has none.
  UniqueFd store;
  UniqueFd mount_namespace;
  std::string why_copied;  // empty if its workspace is no copy
};

// Names what ends a sandbox besides its ttl.
enum class EndsWith {
  Owner,       // the process that started it
  Connection,  // the same, and its first connection
};

enum class Pooling {
  Off,  // each part is made when it is needed
  On,   // network and user namespaces and cgroups are made ahead and used again
};

class Starter {
 public:
  static Result<Starter> create(InitEntry entry, Pooling pooling);

  [[nodiscard]] const Abilities& abilities() const { return abilities_; }

  // Takes an idle sandbox with the same limits and image if there is one, else makes a new one.
  Result<NativeSandbox> start(const SandboxSpec& spec, EndsWith end = EndsWith::Owner);
  // Starts a child that makes /workspace the stack of these layers. Only init may be alive in the
  // sandbox.
  [[nodiscard]] Result<SideProcess> begin_restack(const NativeSandbox& sandbox,
                                                  const SandboxSpec& spec,
                                                  const std::vector<std::string>& layers) const;
  // Waits until init has entered the sandbox; returns the error if it could not.
  static Result<> wait_until_started(NativeSandbox& sandbox);
  // The same without waiting: false if init is still entering.
  static Result<bool> has_started(NativeSandbox& sandbox);
  // Says why a sandbox that has ended did not start; empty if it did.
  static std::string start_failure(NativeSandbox& sandbox);

  // Moves the descriptors of a sandbox that is kept to numbers from kFirstKept on.
  static Result<> put_aside(NativeSandbox& sandbox);

  static Result<UniqueFd> connect(NativeSandbox& sandbox);

  // Kills the sandbox and keeps its parts, to be cleaned for the next one. With pooling it does not
  // wait for the end: if more than init is alive, it returns a descriptor that is readable once
  // nothing is.
  UniqueFd finish(NativeSandbox sandbox);
  // Takes back the parts of sandboxes that have ended.
  void collect_ended();
  [[nodiscard]] bool has_ending() const { return !ending_.empty(); }
  // Cleans or makes one part for the next start; false when all are ready. For idle moments.
  bool prepare_one();
  // When to call prepare_one() again although nothing has happened.
  [[nodiscard]] Deadline next_preparation() const;

 private:
  Starter(InitEntry entry, Pooling pooling) : entry_(std::move(entry)), pooling_(pooling) {}
  Result<> prepare_self();
  Result<> gain_own_root();
  struct Spare {
    [[nodiscard]] bool fits(const SandboxSpec& wanted) const;
    SandboxSpec spec;
    NativeSandbox sandbox;
  };
  [[nodiscard]] bool is_alone(const NativeSandbox& sandbox) const;
  void recycle(NativeSandbox sandbox);
  void await_ended();
  [[nodiscard]] bool makes_cgroup_late() const;
  Result<UniqueFd> add_cgroup(NativeSandbox& sandbox, const Limits& limits);
  [[nodiscard]] MemoryLimiter memory_limiter() const;
  [[nodiscard]] bool is_restacked_later(const SandboxSpec& spec) const;
  [[nodiscard]] bool has_late_rules(const SandboxSpec& spec) const;
  [[nodiscard]] Result<HostDirectories> bring_directories(const SandboxSpec& spec,
                                                          const HostIds& ids) const;
  Result<NativeSandbox> start_anew(const SandboxSpec& spec, InitSetup setup);
  Result<std::optional<NativeSandbox>> take_spare(const SandboxSpec& spec, EndsWith end);
  bool make_spare();
  Result<std::optional<Cgroup>> take_cgroup(const Limits& limits);
  Result<std::optional<NetworkNamespace>> take_network();
  Result<> take_user(NativeSandbox& sandbox);
  Result<> begin_network();
  void send_network(int late_pieces);
  Result<ChildProcess> clone_into(const SandboxSpec& spec, NativeSandbox& sandbox, InitSetup setup,
                                  UniqueFd report);
  [[nodiscard]] EnterPlan plan_entry(const SandboxSpec& spec, const NativeSandbox& sandbox) const;
  InitSetup make_setup(const SandboxSpec& spec) const;
  std::vector<int> choose_cpus(const Limits& limits) const;

  InitEntry entry_;
  Pooling pooling_;
  Abilities abilities_;
  UniqueFd own_process_;  // this process; children end with it
  HostIds caller_;
  std::size_t command_line_bytes_ = 0;
  PartsPool parts_;
  StagedRoots roots_;
  std::deque<NativeSandbox> ending_;           // killed and not yet reaped
  std::list<Spare> spares_;                    // idle sandboxes that wait for orders
  SandboxSpec last_spec_;                      // spares are made for the same
  std::optional<NetworkMaker> network_maker_;  // without pooling: makes the next sandbox's network
};

}  // namespace nutshell::native
