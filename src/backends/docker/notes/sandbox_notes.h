// Notes of the host about each sandbox in a container: its environment, its ttl and its first
// process. The container itself cannot hold these: an engine shows an environment to everybody who
// may inspect it, labels cannot be changed, and an engine that hangs cannot be asked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "containers/ttl_clock.h"
#include "core/backend.h"

namespace nutshell::docker {

using containers::TtlClock;

// `engine` is an engine's address throughout.
Result<> keep_environment(const std::string& id, const std::string& engine,
                          const std::vector<std::string>& environment);
// NotFound for a sandbox that was made on another machine or by another user.
Result<std::vector<std::string>> kept_environment(const std::string& id);
// The sandboxes of this engine whose environments are kept.
std::vector<std::string> ids_with_environments(const std::string& engine);

Result<> keep_clock(const std::string& id, const TtlClock& clock);
// An error where none is kept: the container's label says when it expires.
Result<TtlClock> kept_clock(const std::string& id);

// Connecting to a sandbox or killing it by its process is faster than through the engine, and works
// while the engine hangs.
Result<> keep_process(const std::string& id, const std::string& engine, pid_t process);
// NotFound unless that process still runs; another process that got its number does not count.
Result<pid_t> kept_process(const std::string& id, const std::string& engine);

// Removes everything that is kept about a sandbox.
void forget_sandbox(const std::string& id);

// Forgets sandboxes that ended by themselves a minute ago or earlier.
void sweep_sandbox_notes(SweepMode mode, SweepReport& report);

}  // namespace nutshell::docker
