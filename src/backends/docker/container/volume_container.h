// A container that is never started. An engine takes files for a volume only through a container
// that mounts it. The destructor removes the container; if the process is killed, the next create()
// or a sweep does.
#pragma once

#include <string>

#include "backends/docker/engine/engine_client.h"
#include "core/backend.h"

namespace nutshell::docker {

class VolumeContainer {
 public:
  struct Place {
    std::string volume;
    std::string target;  // where it is mounted
    std::string image;   // any image of the engine
  };
  // `engine` must outlive the object.
  static Result<VolumeContainer> create(EngineClient& engine, const Place& place);
  VolumeContainer(VolumeContainer&& other) noexcept
      : engine_(other.engine_), name_(std::exchange(other.name_, {})) {}
  VolumeContainer& operator=(VolumeContainer&&) = delete;
  ~VolumeContainer();

  // Unpacks a tar archive below `directory`.
  Result<> unpack(const std::string& directory, std::string archive) const;

 private:
  VolumeContainer(EngineClient& engine, std::string name)
      : engine_(engine), name_(std::move(name)) {}

  EngineClient& engine_;
  std::string name_;  // empty once moved from
};

// Removes containers that killed processes left: those too old to be in use.
void sweep_volume_containers(EngineClient& engine, SweepMode mode, SweepReport& report);

}  // namespace nutshell::docker
