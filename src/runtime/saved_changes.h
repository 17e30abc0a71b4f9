// Goes on with the changes of a sandbox that has ended. They are hostile data: they are written
// into a new sandbox, and what reads them does so inside or by the rules of a living sandbox.
#pragma once

#include <functional>
#include <string>

#include "runtime/runtime.h"
#include "saved/saved_workspaces.h"

namespace nutshell {

// Finds the saved changes, and waits while they are being saved. The error says why there are none.
Result<saved::SavedWorkspace> find_saved(const std::string& id);

// Makes a sandbox of this spec with the saved changes over the directory as it is now; returns its
// id. 'nutshell apply' then compares the host's files with the time when the ended sandbox began.
Result<std::string> create_from_saved(Runtime& runtime, const SandboxSpec& spec,
                                      const saved::SavedWorkspace& saved);

// Calls `step` with a sandbox that has the saved changes, and ends with the call, or with this
// process. `runtime` is of this machine, without a daemon.
using SavedStep = std::function<Result<int>(Runtime& runtime, const std::string& id)>;
Result<int> with_saved(const BackendContext& context, const saved::SavedWorkspace& saved,
                       const SavedStep& step);

// Saves the changes of a living sandbox whose backend does not do so when it ends.
Result<> save_changes(Runtime& runtime, const std::string& id);

// Whether saved changes, which 'apply' needs its records for, are there.
bool has_saved(const std::string& id);

}  // namespace nutshell
