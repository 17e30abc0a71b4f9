// Containers that were to be removed while their engine did not answer: written down beside the
// user's sandboxes, so that whoever reaches the engine next can do it. Docker removes by itself,
// when it starts again, what was made with AutoRemove and does not run; podman does not.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::docker {

// `engine` is its address; `container` a name of ours.
Result<> owe_removal(const std::string& engine, const std::string& container);
std::vector<std::string> owed_removals(const std::string& engine);
void forget_removal(const std::string& container);

// Those of engines that were not asked for a long time: what they keep is found by its labels.
void sweep_owed_removals(SweepMode mode, SweepReport& report);

}  // namespace nutshell::docker
