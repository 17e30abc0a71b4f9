// Lets a backend that clones itself into a sandbox run init there without an exec.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace nutshell {

// The starter's settings for init. From then on init is inside the sandbox's boundary.
struct InitSetup {
  UniqueFd control;  // packet socket: each packet carries a new connection; init ends with it
  bool is_ended_by_first_connection = false;  // `control` ends with it, until wire::Release
  bool is_for_one_caller = false;             // the sandbox ends with its last connection
  UniqueFd listener;    // accepts connections instead, where descriptors cannot be passed in
  UniqueFd connection;  // the first connection, if there is one already
  bool waits_for_orders = false;  // a spare: the rest comes in the first packet of `control`
  UniqueFd store;                 // directory only init can reach, on the scratch file system
  UniqueFd base;           // first content of /workspace, read-only; not open if that was empty
  bool is_copied = false;  // /workspace is a copy of the base; layers cannot be stacked
  // Landlock rules by which init restricts itself; not open if init is restricted already.
  UniqueFd path_rules;
  UniqueFd memory_priority;  // init's own oom_score_adj, open for writing
  UniqueFd oom_events;       // text with a line "oom_kill N"; closed where there is no cgroup
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds idle_timeout{0};     // zero: none
  std::vector<std::string> environment;          // for every exec
  std::string working_directory = "/workspace";  // for every exec that names none
  // Bound to port 53 of the sandbox's loopback, to answer look-ups of names; if they are not open,
  // init opens them itself.
  UniqueFd name_datagrams;
  UniqueFd name_listener;
  std::uint64_t watched_memory_bytes = 0;  // zero: a cgroup enforces the limit
  bool has_own_kernel = false;             // the kernel's counters cover this sandbox alone
  bool is_pinned = false;  // the CPU affinity is the CPU limit, so commands must keep it
  std::uint32_t watched_millicpus = 0;          // zero: a cgroup or the affinity enforces the limit
  std::vector<std::string> scratch = {"/tmp"};  // file systems whose use counts as memory
};

// The byte of a packet on `control` whose descriptor holds new path rules, not a connection.
inline constexpr char kNewPathRules = 'r';
// The first byte of a packet that tells the milliseconds left of the ttl, in eight bytes.
inline constexpr char kNewTimeLeft = 't';

// Runs init. The process must exit with the returned status.
using InitEntry = std::function<int(InitSetup)>;

}  // namespace nutshell
