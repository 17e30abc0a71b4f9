// Finds the files of a repository that lie outside the work tree: in a linked worktree, `.git` is a
// file that names a directory of the repository.
#pragma once

#include <filesystem>
#include <optional>

namespace nutshell {

// Returns the repository that git needs to read besides a linked worktree. The file `.git` may come
// from anybody, so the repository must name this workspace too.
std::optional<std::filesystem::path> repository_of_worktree(const std::filesystem::path& workspace);

// The path of a work tree's index, which need not exist.
std::filesystem::path index_of(const std::filesystem::path& work_tree);

}  // namespace nutshell
