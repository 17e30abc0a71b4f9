// Names as the file system of a host could read them: without case, without characters that are
// ignored, without what Windows cuts off. A sandbox chooses its names, so ".GIT", ".g\u200cit" and
// "git~1" must not pass as names of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// ".git" for ".GIT", ".git. ", ".git::$INDEX_ALLOCATION" and ".g\u200cit".
std::string fold_name(std::string_view name);

// Whether some file system takes a folded name for ".git": also "git~1", its short name on NTFS.
bool is_git_name(std::string_view folded);

// The components of a path. A backslash separates too: it does on Windows, and git refuses it.
std::vector<std::string> fold_path(std::string_view path);

// The components of a path, as they are.
std::vector<std::string_view> split_path(std::string_view path);

}  // namespace nutshell
