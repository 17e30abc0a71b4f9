// Writes the changes of a sandbox to its workspace's directory on the host. Everything from the
// sandbox is hostile: no step leaves the directory or follows a link. Each file is replaced
// atomically, even if this process is killed.
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

// Files that an earlier apply wrote: path and time of the last change, in nanoseconds. A file with
// another time was changed by another program since.
using AppliedTimes = std::map<std::string, std::int64_t>;

enum class ApplyMode { Write, DryRun };
enum class Conflicts { Refused, Overwritten };
enum class Ignored { LeftOut, Taken };

struct ApplyRequest {
  std::filesystem::path directory;
  std::int64_t began_ns = 0;  // when the sandbox started, by the clock of file times
  AppliedTimes applied;
  ApplyMode mode = ApplyMode::Write;
  Conflicts conflicts = Conflicts::Refused;
  HoldOptions hold;
  std::vector<std::string> excluded;  // not these, nor what is below them
  Ignored ignored = Ignored::LeftOut;
};

struct ApplyReport {
  std::vector<wire::FileChange> written;  // or would be written
  std::vector<std::string> conflicts;     // messages; if there is one, nothing is written
  std::vector<std::string> skipped;       // FIFOs, sockets, devices
  std::vector<JudgedChange> held;         // files that the host would run or trust
  // Left out because git ignores them: a directory, with a slash at its end, or a file, and how
  // many changes it stands for.
  std::map<std::string, std::size_t> ignored;
  AppliedTimes applied;  // times of the files written now
};

// Applies those changes of a workspace that `request.hold` selects.
Result<ApplyReport> apply_changes(wire::InitClient& client,
                                  const std::vector<wire::FileChange>& changes,
                                  const ApplyRequest& request);

}  // namespace nutshell
