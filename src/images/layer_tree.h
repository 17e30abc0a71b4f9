// Makes a root file system from layers: new directories, and hard links to the layers' files.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell::images {

// Adds a layer on top of the content of a directory. A file ".wh.NAME" removes NAME of lower
// layers,
// ".wh..wh..opq" removes everything of them in its directory; neither appears itself. Does not
// change the layer, and follows no links. Both must lie on one file system.
Result<> add_layer(const std::filesystem::path& layer, const std::filesystem::path& root);

// Removes a tree, as far as it can be removed.
void remove_tree(const std::filesystem::path& path);

}  // namespace nutshell::images
