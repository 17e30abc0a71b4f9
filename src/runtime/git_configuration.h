// The user's own git configuration, read for the files of the work tree that it makes git run:
// hooks below core.hooksPath, programs of filters and diffs, files that are included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// Paths relative to the work tree at `work_tree`, each a file or a directory: "scripts/hooks".
// Names too many rather than too few.
std::vector<std::string> work_tree_paths_in(std::string_view configuration,
                                            std::string_view work_tree);

}  // namespace nutshell
