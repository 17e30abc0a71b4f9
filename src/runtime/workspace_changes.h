// Reads and checks the list of changes that a sandbox reports for its workspace.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/call_memory.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

// The path of the workspace in every sandbox.
inline constexpr std::string_view kWorkspacePath = "/workspace/";
// A directory that `apply` makes in the host's directory and removes at its end.
inline constexpr std::string_view kStagingName = ".nutshell-apply";

inline constexpr wire::FileKind kNoFile{0};

// Whether the path was added, modified or removed.
wire::ChangeKind kind_of(const wire::FileChange& change);

// Returns the checked list: every path is relative, has plain names and occurs once. `admit` is
// called before a change is kept in memory; its error ends the list.
using AdmitChange = std::function<Result<>(const wire::FileChange&)>;
Result<std::vector<wire::FileChange>> list_workspace_changes(wire::InitClient& client,
                                                             const AdmitChange& admit = nullptr);
// Charges each change, and the answers that are made of it, to `memory`.
AdmitChange charged_to(CallMemory& memory);

// Returns the changes at or below one of the paths; all changes if `paths` is empty. An error for a
// path without changes.
Result<std::vector<wire::FileChange>> select_changes(std::vector<wire::FileChange> changes,
                                                     const std::vector<std::string>& paths);

// Makes a path that a user gave relative to the workspace: "src/a" for "/workspace/src/a/".
std::string workspace_path(std::string path);
bool is_at_or_below(std::string_view path, std::string_view directory);

Result<> check_change(const wire::FileChange& change);

// The content of a changed file before or after; an error if it is too large to show.
Result<std::string> read_changed_file(wire::InitClient& client, const wire::FileInfo& info,
                                      const std::string& path, wire::FileState state);
inline constexpr std::uint64_t kMostShownBytes = 64ULL << 20U;

}  // namespace nutshell
