// Sends the init of a new container what it needs before anything else: its orders and the
// content of the workspace.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/sandbox_spec.h"
#include "wire/orders.h"

namespace nutshell::containers {

// The orders that follow from a spec alone. The caller adds what depends on its engine: whether a
// workspace follows, which limits init has to watch, whether the kernel is the sandbox's own.
wire::ContainerOrders orders_for(const SandboxSpec& spec, Lifetime lifetime,
                                 const std::vector<std::string>& image_environment);

// Defaults, then the image's variables, then the sandbox's; a later value replaces an earlier one.
// Skips entries that are not NAME=VALUE.
std::vector<std::string> environment_for(const std::vector<std::string>& image_environment,
                                         const std::vector<std::string>& sandbox_environment);

// Copies a directory of the host into /workspace and waits until init has written it. Names
// sockets, FIFOs and devices, which are left out, through `show`.
Result<> bring_workspace(int stream, const std::string& directory,
                         const std::function<void(const std::string&)>& show);

// Refuses kept caches, and read-only mounts at paths of their own: a bind mount, all that an engine
// has, would let commands connect to the host's sockets in it and lock its files.
Result<> check_native_fields(const SandboxSpec& spec);

}  // namespace nutshell::containers
