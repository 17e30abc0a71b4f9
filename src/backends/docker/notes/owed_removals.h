// Containers that could not be removed because their engine did not answer. They are noted in the
// user's runtime directory, and the next call that reaches the engine removes them. Docker removes
// stopped AutoRemove containers itself when it starts again; podman does not.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::docker {

// `engine` is an engine's address; `container` the name of one of our containers.
Result<> owe_removal(const std::string& engine, const std::string& container);
std::vector<std::string> owed_removals(const std::string& engine);
void forget_removal(const std::string& container);

// Removes notes that are a day old or cannot be read: their engine was not used since. If it comes
// back, the container is found by its label.
void sweep_owed_removals(SweepMode mode, SweepReport& report);

}  // namespace nutshell::docker
