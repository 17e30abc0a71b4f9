// Where a workspace is a copy: makes the copy that it is compared with the same as it is now.
#pragma once

#include <memory>

#include "init/layers/layer.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

struct ComparedCopies {
  const Layer& base;
  std::shared_ptr<const Layer> now;
};

// One path, as it was applied to the host. False, and nothing is done, if it is not like that any
// more.
Result<bool> follow_apply(const ComparedCopies& copies, const wire::FileChange& applied);

}  // namespace nutshell::init
