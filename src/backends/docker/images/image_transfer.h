// Copies images from an engine to this machine's store, and from the store to an engine.
#pragma once

#include <functional>
#include <string>

#include "backends/docker/engine/engine_client.h"
#include "backends/docker/images/image_source.h"
#include "base/result.h"

namespace nutshell::docker {

struct SaveTarget {
  int output = -1;
  std::function<void(const std::string&)> show_progress = nullptr;
};

// Writes the archive that `docker save` writes.
Result<> save_image(EngineKind kind, const std::string& image, const SaveTarget& target);

// Gives an imported image to the engine if it lacks it. NotFound if no image of that name was
// imported.
Result<ImageFacts> load_stored_image(EngineClient& engine, const std::string& image,
                                     const std::function<void(const std::string&)>& show_progress);

}  // namespace nutshell::docker
