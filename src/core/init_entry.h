// Lets a backend that clones itself into a sandbox run init there without an exec.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace nutshell {

// What the starter tells init. Init is inside the sandbox's boundary from then on.
struct InitSetup {
  UniqueFd control;  // packet socket: each packet carries a new connection; init ends with it
  bool is_ended_by_first_connection = false;  // `control` ends with it, until wire::Release
  UniqueFd listener;    // or a socket to accept connections from, where none can be passed in
  UniqueFd connection;  // the first connection, if there is one already
  bool waits_for_orders = false;  // made ahead: the rest comes in the first packet of `control`
  UniqueFd store;                 // directory only init can reach, on the scratch file system
  UniqueFd base;                  // first content of /workspace, read-only; closed if it was empty
  bool is_copied = false;         // /workspace is a copy of the base, and no layers can be stacked
  // Landlock rules by which init restricts itself; closed if init is restricted already.
  UniqueFd path_rules;
  UniqueFd memory_priority;  // init's own oom_score_adj, open for writing
  UniqueFd oom_events;       // text with a line "oom_kill N"; closed where there is no cgroup
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds idle_timeout{0};     // zero: none
  std::vector<std::string> environment;          // of every exec
  std::string working_directory = "/workspace";  // of every exec that names none
  std::uint64_t watched_memory_bytes = 0;        // zero: a cgroup enforces it
  bool has_own_kernel = false;                   // its kernel's counts are of this sandbox alone
  bool is_pinned = false;                        // affinity is the CPU limit: commands keep it
  std::uint32_t watched_millicpus = 0;           // zero: a cgroup or the affinity is enough
  std::vector<std::string> scratch = {"/tmp"};   // file systems whose use counts as memory
};

// The byte of a packet on `control` whose descriptor holds new path rules, not a connection.
inline constexpr char kNewPathRules = 'r';
// The first byte of a packet that tells the milliseconds left of the ttl, in eight bytes.
inline constexpr char kNewTimeLeft = 't';

// Runs init. The process must exit with the returned status.
using InitEntry = std::function<int(InitSetup)>;

}  // namespace nutshell
