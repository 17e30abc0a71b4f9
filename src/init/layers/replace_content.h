// Replaces the content of one directory of the store by the content of another.
#pragma once

#include "init/layers/layer_view.h"

namespace nutshell::init {

// Moves the content of `target` to `aside`, and the content of `from` to `target`. Reads and
// removes nothing, so permissions that a command left behind are not in the way.
struct Replacement {
  std::shared_ptr<const Layer> target;
  std::shared_ptr<const Layer> from;
  std::shared_ptr<const Layer> aside;
};
Result<> replace_content(const Replacement& replacement);

}  // namespace nutshell::init
