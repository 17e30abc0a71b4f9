// Normalizes names the way a host's file system might: ignores case, invisible characters and
// suffixes that Windows drops. A sandbox chooses its names, so ".GIT", ".g\u200cit" and "git~1"
// must be recognised as ".git".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// ".git" for ".GIT", ".git. ", ".git::$INDEX_ALLOCATION" and ".g\u200cit".
std::string fold_name(std::string_view name);

// Whether some file system takes a folded name for ".git": also "git~1", its short name on NTFS.
bool is_git_name(std::string_view folded);

// The folded components of a path. Splits at backslashes too: Windows does, and git refuses them.
std::vector<std::string> fold_path(std::string_view path);

// The components of a path, unchanged.
std::vector<std::string_view> split_path(std::string_view path);

}  // namespace nutshell
