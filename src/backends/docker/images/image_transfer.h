// Images from an engine to here, and from here to an engine.
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

// As `docker save` writes it.
Result<> save_image(EngineKind kind, const std::string& image, const SaveTarget& target);

// An imported image of that name, put into the engine where it lacks it; NotFound: none is
// imported.
Result<ImageFacts> load_stored_image(EngineClient& engine, const std::string& image,
                                     const std::function<void(const std::string&)>& show_progress);

}  // namespace nutshell::docker
