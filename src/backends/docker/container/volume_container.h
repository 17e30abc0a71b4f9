// A container that is never started: an engine takes files for a volume only through one that
// mounts it. Removed with the object; one that was left by whoever was killed goes with the next
// one's making, or with the sweep.
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
    std::string image;   // any that the engine has
  };
  // The engine must outlive it.
  static Result<VolumeContainer> create(EngineClient& engine, const Place& place);
  VolumeContainer(VolumeContainer&& other) noexcept
      : engine_(other.engine_), name_(std::exchange(other.name_, {})) {}
  VolumeContainer& operator=(VolumeContainer&&) = delete;
  ~VolumeContainer();

  // A tar, below `directory`.
  Result<> unpack(const std::string& directory, std::string archive) const;

 private:
  VolumeContainer(EngineClient& engine, std::string name)
      : engine_(engine), name_(std::move(name)) {}

  EngineClient& engine_;
  std::string name_;  // empty once moved from
};

// Those that are left: so old that nobody can be using them.
void sweep_volume_containers(EngineClient& engine, SweepMode mode, SweepReport& report);

}  // namespace nutshell::docker
