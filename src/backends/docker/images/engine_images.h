// The images of one engine: finds them, and gives the engine those that it lacks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backends/docker/engine/engine.h"
#include "backends/docker/images/image_source.h"
#include "core/image_holder.h"

namespace nutshell::docker {

class EngineImages {
 public:
  using Show = std::function<void(const std::string&)>;
  // `engine` must outlive this object. `show` receives lines of progress; it may be null.
  EngineImages(Engine& engine, Show show) : engine_(engine), show_(std::move(show)) {}

  // Takes the image that the engine has, else an imported one of that name, else pulls it.
  Result<ImageFacts> ensure(const std::string& name, PullAccount account);
  // The image's size; nullopt if the engine does not have it.
  Result<std::optional<std::uint64_t>> bytes(const std::string& name);
  // Succeeds if the engine does not have it.
  Result<> remove(const std::string& name);

 private:
  [[nodiscard]] PullVisitor progress_of(const std::string& name) const;

  Engine& engine_;
  Show show_;
};

}  // namespace nutshell::docker
