// Checks an index of git before it leaves a sandbox. Git trusts the paths in it: with an entry
// named ".git/hooks/post-checkout", `git restore .` writes that hook and runs it.
//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// Returns what is wrong with the index; empty if every path can only lead into the work tree.
// Supports versions 2 to 4 with SHA-1; refuses extensions that could name other paths.
std::string trouble_with_index(std::string_view bytes);

// A digest of what is staged: paths, modes, objects, stages. It does not change when git only
// updates the files' times, as `git status` does. Empty if the index is malformed.
std::string digest_of_staged(std::string_view bytes);

// The paths of its entries, up to the first that is malformed.
std::vector<std::string> paths_in_index(std::string_view bytes);

}  // namespace nutshell
