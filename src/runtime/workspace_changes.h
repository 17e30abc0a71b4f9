// What a sandbox did to its workspace, as it says itself: checked before anybody acts on it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

// Where the workspace lies inside every sandbox.
inline constexpr std::string_view kWorkspacePath = "/workspace/";
// Of the host's directory: for `apply` alone, and gone with it.
inline constexpr std::string_view kStagingName = ".nutshell-apply";

inline constexpr wire::FileKind kNoFile{0};

// Every path is relative, of plain names, and named once; every kind and target is possible.
// `admit` is asked before each is held; its error ends the list.
using AdmitChange = std::function<Result<>(const wire::FileChange&)>;
Result<std::vector<wire::FileChange>> list_workspace_changes(wire::InitClient& client,
                                                             const AdmitChange& admit = nullptr);

// Those at or below one of the paths; all, if there are none. An error for a path that has no
// change.
Result<std::vector<wire::FileChange>> select_changes(std::vector<wire::FileChange> changes,
                                                     const std::vector<std::string>& paths);

// A path as a user gives it, relative to the workspace: "src/a" for "/workspace/src/a/".
std::string workspace_path(std::string path);
bool is_at_or_below(std::string_view path, std::string_view directory);

Result<> check_change(const wire::FileChange& change);

// The bytes of a changed file, before or after; at most `most`.
Result<std::string> read_changed_file(wire::InitClient& client, const wire::FileInfo& info,
                                      const std::string& path, wire::FileState state);
inline constexpr std::uint64_t kMostShownBytes = 64ULL << 20U;

}  // namespace nutshell
