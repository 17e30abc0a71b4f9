// Finds in the user's own git configuration the files of the work tree that it makes git run: hooks
// below core.hooksPath, programs of filters and diffs, included files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// Paths of files or directories relative to `work_tree`, such as "scripts/hooks". May list too
// many, but never too few.
std::vector<std::string> work_tree_paths_in(std::string_view configuration,
                                            std::string_view work_tree);

}  // namespace nutshell
