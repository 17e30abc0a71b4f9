// For a workspace that is a copy: updates the unchanged copy that it is compared with, after
// changes were applied to the host.
#pragma once

#include <memory>

#include "init/layers/layer.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

struct ComparedCopies {
  const Layer& base;
  std::shared_ptr<const Layer> now;
};

// Takes over one path as it was applied to the host. Returns false, and does nothing, if the path
// has changed since.
Result<bool> follow_apply(const ComparedCopies& copies, const wire::FileChange& applied);

}  // namespace nutshell::init
