// Differences between a sandbox's workspace and its directory on the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/git_patch.h"
#include "runtime/workspace_changes.h"
#include "wire/tool_schema.h"

namespace nutshell {

struct FileDifference {
  std::string patch;  // empty for directories and other entries that git does not know
  bool is_binary = false;
  std::uint64_t lines_added = 0;
  std::uint64_t lines_removed = 0;
};

// Reads both sides of one change. A file that is too large to show is an error.
Result<FileDifference> difference_of(wire::InitClient& client, const wire::FileChange& change,
                                     BinaryForm form);

}  // namespace nutshell
