// Writes what a sandbox changed back to the directory its workspace began as. Everything the
// sandbox says is hostile: no step leaves the directory or follows a link, and no file is torn,
// whenever this process dies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/held_changes.h"
#include "runtime/workspace_changes.h"
#include "wire/tool_schema.h"

namespace nutshell {

// What an earlier apply left, by path: the time of the last change of the file, in nanoseconds. A
// file that has another one was changed by somebody else since.
using AppliedTimes = std::map<std::string, std::int64_t>;

enum class ApplyMode { Write, DryRun };
enum class Conflicts { Refused, Overwritten };

struct ApplyRequest {
  std::filesystem::path directory;
  std::int64_t began_ns = 0;  // when the sandbox began, on the clock that files have
  AppliedTimes applied;
  ApplyMode mode = ApplyMode::Write;
  Conflicts conflicts = Conflicts::Refused;
  HoldOptions hold;
};

struct ApplyReport {
  std::vector<wire::FileChange> written;  // or would be
  std::vector<std::string> conflicts;     // what is in the way, in words; then nothing is written
  std::vector<std::string> skipped;       // FIFOs, sockets, devices
  std::vector<JudgedChange> held;         // what the host would run or trust
  AppliedTimes applied;                   // of what was written now
};

// Of all the changes of a workspace, applies those that `request.hold` selects.
Result<ApplyReport> apply_changes(wire::InitClient& client,
                                  const std::vector<wire::FileChange>& changes,
                                  const ApplyRequest& request);

}  // namespace nutshell
