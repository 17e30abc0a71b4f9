// Finds the containers that are this user's sandboxes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/docker/container/spec_labels.h"
#include "backends/docker/engine/engine_client.h"

namespace nutshell::docker {

struct FoundContainer {
  Remembered remembered;
  std::string state;  // "created", "running", "paused", "exited", …
  std::chrono::milliseconds made_at{};

  [[nodiscard]] std::string name() const { return container_name(remembered.id); }
  [[nodiscard]] bool is_alive() const { return state == "running" || state == "paused"; }
};

// `id_letter` begins the ids of this backend's sandboxes.
Result<std::vector<FoundContainer>> find_containers(EngineClient& engine, char id_letter);

}  // namespace nutshell::docker
