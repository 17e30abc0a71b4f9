// Root file systems made of layers: directories of their own, and hard links to the layers' files.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell::images {

// Puts a layer on top of what a directory holds already. A file ".wh.NAME" takes NAME away that
// lower layers brought, ".wh..wh..opq" everything in its directory; neither appears itself. Nothing
// of the layer is changed, and no link is followed. Both lie on one file system.
Result<> add_layer(const std::filesystem::path& layer, const std::filesystem::path& root);

// Whatever is there, as far as it can be removed.
void remove_tree(const std::filesystem::path& path);

}  // namespace nutshell::images
