// Puts what is in one directory of the store in the place of what is in another.
#pragma once

#include "init/layers/layer_view.h"

namespace nutshell::init {

// Moves what is in `target` to `aside`, and what is in `from` to `target`. Nothing has to be read
// or removed for it, so no permissions that a command left behind are in the way.
struct Replacement {
  std::shared_ptr<const Layer> target;
  std::shared_ptr<const Layer> from;
  std::shared_ptr<const Layer> aside;
};
Result<> replace_content(const Replacement& replacement);

}  // namespace nutshell::init
