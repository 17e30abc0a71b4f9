// Our init, as a volume of the engine that every container mounts read-only: named by the program's
// hash, filled once per engine, wherever that engine is.
#pragma once

#include <filesystem>
#include <string>

#include "backends/docker/engine/engine_client.h"
#include "core/backend.h"

namespace nutshell::docker {

class InitVolume {
 public:
  // The program that becomes init. Its hash is computed once and kept, for as long as the file is
  // the same: it takes longer than asking the engine for a container.
  static Result<InitVolume> find(const std::filesystem::path& program);

  [[nodiscard]] const std::string& name() const { return name_; }

  // Makes and fills it where it is missing. `image` is any that the engine has: it takes a
  // container, which is never started, to reach a volume.
  Result<> ensure(EngineClient& engine, const std::string& image) const;
  Result<> fill(EngineClient& engine, const std::string& image) const;

  // Of earlier programs, that nothing uses.
  void sweep_others(EngineClient& engine, SweepMode mode, SweepReport& report) const;

 private:
  InitVolume(std::string name, std::filesystem::path program)
      : name_(std::move(name)), program_(std::move(program)) {}

  std::string name_;
  std::filesystem::path program_;
};

// A tar of the program under a passing name, and last a link to it with its own: whatever happens
// in between, a program that is there is whole.
std::string make_init_archive(std::string_view program);

}  // namespace nutshell::docker
