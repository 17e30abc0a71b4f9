// Starts native sandboxes: clones this process, which has one thread, into each. The same code
// serves the launcher, which keeps pieces ready, and a one-shot run, which needs each piece once.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/namespaces/network_namespace.h"
#include "backends/native/namespaces/privilege.h"
#include "backends/native/namespaces/user_namespace.h"
#include "backends/native/processes/side_process.h"
#include "backends/native/start/abilities.h"
#include "backends/native/start/enter.h"
#include "base/child_process.h"
#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/init_entry.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

// Detached mounts of what a sandbox sees of the host.
struct HostDirectories {
  UniqueFd base;           // of /workspace
  UniqueFd base_to_stack;  // another, used up by the start
  std::vector<UniqueFd> unsafe_mounts;
};

// A mount namespace with a root mounted in it. Sandboxes use it one after the other: each begins
// with a copy, whose overlays are the same ones, so that the kernel need not make and destroy them
// for each sandbox. No lock or watch outlives the sandbox that had it.
struct StagedRoot {
  UniqueFd mount_namespace;
  std::string image;
};

// A running sandbox and what belongs to it alone.
struct NativeSandbox {
  ChildProcess init;
  UniqueFd control;  // hands connections to init; its end is init's end
  UniqueFd stream;   // the first connection, until somebody takes it
  UniqueFd report;   // why it did not start, if it did not
  HostIds ids;
  std::optional<UserNamespace> user;  // pooled
  std::uint32_t init_threads = 1;
  std::optional<Cgroup> cgroup;
  bool is_only_limited = false;  // it is in no directory of `cgroup` that only freezes and counts
  std::optional<NetworkNamespace> network;  // pooled
  std::optional<StagedRoot> root;           // pooled; none: it mounted its root itself
  UniqueFd late_pieces;                     // while it starts without a pool
  HostDirectories directories;              // of the host, mounted in it
  // What its layers are stacked by; closed where they cannot be.
  UniqueFd store;
  UniqueFd mount_namespace;
  std::string why_copied;  // empty: its workspace is no copy
};

enum class Pooling {
  Off,  // each piece is made when it is needed
  On,   // network and user namespaces and cgroups are made ahead and used again
};

class Starter {
 public:
  static Result<Starter> create(InitEntry entry, Pooling pooling);

  [[nodiscard]] const Abilities& abilities() const { return abilities_; }

  // From a spare one with the same limits and image if there is one, else anew.
  Result<NativeSandbox> start(const SandboxSpec& spec);
  // Begins to make its /workspace the stack of these layers, for a sandbox in which only init is
  // alive.
  [[nodiscard]] Result<SideProcess> begin_restack(const NativeSandbox& sandbox,
                                                  const SandboxSpec& spec,
                                                  const std::vector<std::string>& layers) const;
  // Waits until it has entered its sandbox, or gives the reason why it could not.
  static Result<> wait_until_started(NativeSandbox& sandbox);
  // The same without waiting: false while it is on its way.
  static Result<bool> has_started(NativeSandbox& sandbox);
  // Why a sandbox that ended never began; empty if it did begin.
  static std::string start_failure(NativeSandbox& sandbox);

  // For one that lives on: its descriptors are out of the way of the next ones.
  static Result<> put_aside(NativeSandbox& sandbox);

  static Result<UniqueFd> connect(NativeSandbox& sandbox);

  // Ends it, and keeps its pieces to be cleaned for the next one. With pools it does not wait for
  // the end: where more than init is alive, the descriptor it returns is readable once nothing is.
  UniqueFd finish(NativeSandbox sandbox);
  // Takes back the pieces of those that are out.
  void collect_ended();
  [[nodiscard]] bool has_ending() const { return !ending_.empty(); }
  // Cleans or makes one piece ahead; false when all are ready. For idle moments.
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
  struct UsedCgroup {
    Cgroup cgroup;
    Deadline next_try;
    Deadline last_try;
  };
  [[nodiscard]] bool is_alone(const NativeSandbox& sandbox) const;
  void recycle(NativeSandbox sandbox);
  void await_ended();
  [[nodiscard]] const RootTemplate* prepared_root() const {
    return prepared_root_ ? &*prepared_root_ : nullptr;
  }
  [[nodiscard]] bool makes_cgroup_late() const;
  Result<UniqueFd> add_cgroup(NativeSandbox& sandbox, const Limits& limits);
  [[nodiscard]] MemoryWall memory_wall() const;
  [[nodiscard]] bool is_restacked_later(const SandboxSpec& spec) const;
  [[nodiscard]] bool has_late_rules(const SandboxSpec& spec) const;
  [[nodiscard]] Result<HostDirectories> bring_directories(const SandboxSpec& spec,
                                                          const HostIds& ids) const;
  Result<NativeSandbox> start_anew(const SandboxSpec& spec, InitSetup setup);
  Result<std::optional<NativeSandbox>> take_spare(const SandboxSpec& spec);
  bool make_spare();
  bool clean_one_cgroup();
  bool clean_one_network();
  [[nodiscard]] bool has_surplus() const;
  bool drop_surplus();
  Result<Cgroup> make_cgroup();
  Result<std::optional<Cgroup>> take_cgroup(const Limits& limits);
  Result<std::optional<NetworkNamespace>> take_network();
  Result<> take_user(NativeSandbox& sandbox);
  Result<> hold_image(const std::string& image);
  // Mount namespaces that roots of an image come from.
  struct Workshops {
    UniqueFd plain;
    std::deque<UniqueFd> with_root;  // free
    std::size_t made_with_root = 0;  // free or in use
  };
  Workshops* workshops(const std::string& image);
  Result<UniqueFd> make_workshop(const std::string& image, Workshop kind);
  void take_root(const SandboxSpec& spec, NativeSandbox& sandbox);
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
  UniqueFd own_process_;  // for the children, which end with it
  HostIds caller_;
  std::string cgroup_owner_;  // empty until the first one is made
  std::uint64_t cgroup_count_ = 0;
  std::size_t command_line_bytes_ = 0;
  std::optional<RootTemplate> prepared_root_;  // none: each root is made in memory
  std::deque<NativeSandbox> ending_;           // killed, and not yet reaped
  std::list<Spare> spares_;                    // entered and idle, waiting for orders
  SandboxSpec last_spec_;                      // what spares are made like
  std::deque<UsedCgroup> used_cgroups_;        // to be cleaned before they are free again
  std::deque<NetworkNamespace> used_networks_;
  std::deque<Cgroup> free_cgroups_;
  Deadline surplus_end_ = Deadline::never();
  std::optional<NetworkMaker> network_maker_;  // without pools: at work for the next sandbox
  UniqueFd home_network_;
  std::deque<NetworkNamespace> free_networks_;
  std::deque<UserNamespace> free_users_;
  std::map<std::string, Workshops> workshops_;   // by image
  std::map<std::string, UniqueFd> held_images_;  // as long as a root may stand on them
};

}  // namespace nutshell::native
