// The files of a sandbox over time: checkpoints, going back, and other sandboxes that go on from
// here. File state alone: no process is saved, moved or copied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/workspace_apply.h"

namespace nutshell {

// What is to happen with processes that could write to the files meanwhile.
enum class Running { Refused, Killed };

// The name to go back by.
Result<std::string> checkpoint_workspace(Runtime& runtime, const std::string& id, Running running);

// To a checkpoint, or to kBaseCheckpoint: as the workspace began.
Result<> rollback_workspace(Runtime& runtime, const std::string& id, const std::string& checkpoint,
                            Running running);
inline constexpr const char* kBaseCheckpoint = "base";

// A new sandbox like this one, with the same files.
Result<std::string> fork_sandbox(Runtime& runtime, const std::string& id);
// The files of one into another one that was made by the same spec.
Result<> copy_workspace(Runtime& runtime, const std::string& from, const std::string& to);

// What a sandbox changed, to the directory it was made with; what was written is remembered, so
// that the next apply tells it from what others wrote.
struct ApplyOptions {
  std::vector<std::string> paths;  // empty: all
  ApplyMode mode = ApplyMode::Write;
  Conflicts conflicts = Conflicts::Refused;
  UnsafeGit git = UnsafeGit::HeldBack;
};
Result<ApplyReport> apply_workspace(Runtime& runtime, const std::string& id,
                                    const ApplyOptions& options);

}  // namespace nutshell
