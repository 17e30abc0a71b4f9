// The volume with nutshell-init that every container mounts read-only. It is named by the program's
// hash and filled once per engine, also on another machine.
#pragma once

#include <filesystem>
#include <string>

#include "backends/docker/engine/engine_client.h"
#include "core/backend.h"

namespace nutshell::docker {

class InitVolume {
 public:
  // `program` is the file of nutshell-init.
  static Result<InitVolume> find(const std::filesystem::path& program);

  [[nodiscard]] const std::string& name() const { return name_; }

  // Makes and fills the volume if it is missing. `image` is any image of the engine: files reach a
  // volume only through a container, which is never started.
  Result<> ensure(EngineClient& engine, const std::string& image) const;
  Result<> fill(EngineClient& engine, const std::string& image) const;

  // Removes unused volumes of other versions of the program.
  void sweep_others(EngineClient& engine, SweepMode mode, SweepReport& report) const;

 private:
  InitVolume(std::string name, std::filesystem::path program)
      : name_(std::move(name)), program_(std::move(program)) {}

  std::string name_;
  std::filesystem::path program_;
};

// A tar archive with the program under a temporary name, and last a hard link with its real name:
// if unpacking is interrupted, the program is either missing or whole.
std::string make_init_archive(std::string_view program);

}  // namespace nutshell::docker
