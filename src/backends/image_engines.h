// Container engines from which images can be imported.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/registry.h"

namespace nutshell {

struct ImageEngine {
  std::string name;  // the name of its backend
  // Writes an image to a descriptor, as a tar archive.
  std::function<Result<>(const BackendContext&, const std::string& image, int output)> save;
};

const std::vector<ImageEngine>& image_engines();

}  // namespace nutshell
