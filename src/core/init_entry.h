// How a backend that clones itself into a sandbox runs init there without an exec.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace nutshell {

// What init is told by whoever started it. It is inside the boundary from then on.
struct InitSetup {
  UniqueFd control;  // packet socket: each packet carries one new connection; its end is ours
  bool is_ended_by_first_connection = false;  // `control` ends with it, until wire::Release
  UniqueFd listener;    // or a socket to accept connections from, where nobody can pass them in
  UniqueFd connection;  // the first connection, if there is one already
  bool waits_for_orders = false;  // made ahead: the rest comes in the first packet of `control`
  UniqueFd store;                 // directory only init can reach, on the scratch file system
  UniqueFd base;                  // what /workspace began as, read-only; closed where it was empty
  bool is_copied = false;         // /workspace is a copy of the base, and no layers can be stacked
  // Landlock rules that init restricts itself by; where it has to be closed, it already is.
  UniqueFd path_rules;
  UniqueFd memory_priority;  // init's own oom_score_adj, open for writing
  UniqueFd oom_events;       // text with a line "oom_kill N"; closed where there is no cgroup
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds idle_timeout{0};     // zero: none
  std::vector<std::string> environment;          // of every exec
  std::string working_directory = "/workspace";  // of every exec that names none
  std::uint64_t watched_memory_bytes = 0;        // zero: a cgroup enforces it
  bool has_own_kernel = false;                   // whose counts are of this sandbox alone
  bool is_pinned = false;                        // affinity is the CPU limit: commands keep it
  std::uint32_t watched_millicpus = 0;           // zero: a cgroup or the affinity is enough
  std::vector<std::string> scratch = {"/tmp"};   // file systems whose use counts as memory
};

// The byte of a packet on `control` whose descriptor is new path rules, and not a connection.
inline constexpr char kNewPathRules = 'r';
// The first byte of one that says how many milliseconds of the ttl are left, in eight bytes.
inline constexpr char kNewTimeLeft = 't';

// Never returns to the caller's world: the result is the process's exit status.
using InitEntry = std::function<int(InitSetup)>;

}  // namespace nutshell
