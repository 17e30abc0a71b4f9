// The network of sandboxes whose spec has a policy: starts the program nutshell-egress for each of
// them, which carries what is allowed, and asks it. Without that program a sandbox has no network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/backend.h"
#include "core/network_report.h"
#include "core/sandbox_spec.h"
#include "wire/egress_messages.h"

namespace nutshell {

// Refuses a network policy that sandboxes of this backend cannot have.
Result<> check_network_of(const SandboxSpec& spec);

// Starts a sandbox, and its network if the spec has a policy. Every command in it has that network.
// With a daemon the daemon does that. If `relay` is given, it gets the program that carries the
// connections, for a caller that ends the sandbox itself; else that program is nobody's child.
Result<std::string> start_with_network(const BackendContext& context, Backend& backend,
                                       const SandboxSpec& spec, Lifetime lifetime,
                                       ChildProcess* relay = nullptr);

// Ends the network of a sandbox that has ended, and waits for its program. Does nothing if there is
// none.
void end_network(const std::string& id);

// Asks the program of that sandbox. NotFound: there is none.
Result<wire::EgressAnswer> ask_network(const std::string& id, const wire::EgressQuestion& question);

// Turn the answer about a sandbox that was started without a network into one: its way is "none",
// and nothing was tried.
Result<NetworkStatus> status_or_none(Result<NetworkStatus> status);
Result<std::vector<NetworkEvent>> events_or_none(Result<std::vector<NetworkEvent>> events);

// Says that the program of a sandbox with a network is no longer there.
Failure network_has_ended();

// Replaces the policy in the spec of a sandbox by the one that it has now, for another one like it.
Result<> take_present_network(const std::string& id, SandboxSpec& spec);

// Removes the sockets of programs that were killed.
void sweep_networks(SweepMode mode, SweepReport& report);

// Checks the rules of a policy, which only nutshell-egress can read.
Result<> check_network_rules(const BackendContext& context, const NetworkPolicy& policy);

}  // namespace nutshell
