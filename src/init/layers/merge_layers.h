// Makes one layer of several, so that a stack does not grow with the number of changes. Files are
// not copied: they get a second name.
#pragma once

#include "init/layers/layer_view.h"

namespace nutshell::init {

enum class Below { Nothing, Something };  // whether a removed file has to stay marked as such

Result<> merge_layers(const LayerList& layers, const Layer& target, Below below);

}  // namespace nutshell::init
