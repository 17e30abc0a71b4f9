// Checkpoints, rollback, forks and `apply`: operations on the files of /workspace. Processes are
// neither saved nor copied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/workspace_apply.h"
#include "runtime/workspace_changes.h"

namespace nutshell {

// How to treat running processes, which could write to the files meanwhile.
enum class Running { Refused, Killed };

// Saves the files; returns the name of the checkpoint.
Result<std::string> checkpoint_workspace(Runtime& runtime, const std::string& id, Running running);

// Restores the files of a checkpoint, or of kBaseCheckpoint: as the workspace began.
Result<> rollback_workspace(Runtime& runtime, const std::string& id, const std::string& checkpoint,
                            Running running);
inline constexpr const char* kBaseCheckpoint = "base";

// Makes a sandbox with the same spec and files; returns its id.
Result<std::string> fork_sandbox(Runtime& runtime, const std::string& id);
// Copies the files of a sandbox into another one of the same spec. `admit` sees each change first.
Result<> copy_workspace(Runtime& runtime, const std::string& from, const std::string& to,
                        const AdmitChange& admit = nullptr);

// Writes the changes of a sandbox to the directory of its workspace. Remembers what was written, so
// that the next apply can tell it from changes by others.
struct ApplyOptions {
  std::vector<std::string> paths;  // empty: all
  ApplyMode mode = ApplyMode::Write;
  Conflicts conflicts = Conflicts::Refused;
  UnsafeGit git = UnsafeGit::HeldBack;
  std::vector<std::string> excluded;   // not these, nor what is below them
  Ignored ignored = Ignored::LeftOut;  // what .gitignore names, unless it is one of `paths`
};
Result<ApplyReport> apply_workspace(Runtime& runtime, const std::string& id,
                                    const ApplyOptions& options);

}  // namespace nutshell
