// The engine that a backend uses: found by the environment, asked for its version and abilities
// when they are first needed. Not thread-safe.
#pragma once

#include <optional>

#include "backends/docker/engine/engine_client.h"
#include "backends/docker/engine/engine_facts.h"
#include "base/result.h"

namespace nutshell::docker {

class Engine {
 public:
  explicit Engine(EngineKind kind) : kind_(kind) {}

  [[nodiscard]] EngineKind kind() const { return kind_; }
  // Finds the engine's address; sends nothing.
  Result<EngineClient*> find();
  // Fails if the engine does not answer.
  Result<EngineClient*> reach();
  // NotFound if no engine listens at the address: then it has no sandboxes either.
  Result<EngineClient*> reach_if_present();
  // The engine's socket is missing or may not be used.
  [[nodiscard]] bool is_absent() const;
  // Pings the engine, with a second's patience. A silent engine is not asked again for a few
  // seconds.
  bool is_silent();
  // The same from memory; sends nothing.
  [[nodiscard]] bool was_silent() const { return !silent_until_.has_passed(); }
  // Containers of this engine are processes of this machine that we may enter.
  Result<> check_direct_access();
  Result<const EngineFacts*> facts();

  // Null until find() has succeeded.
  [[nodiscard]] EngineClient* client() { return client_ ? &*client_ : nullptr; }
  // Null until facts() has succeeded.
  [[nodiscard]] const EngineFacts* known_facts() const { return facts_ ? &*facts_ : nullptr; }

 private:
  EngineKind kind_;
  std::optional<EngineClient> client_;
  std::optional<EngineFacts> facts_;
  Deadline silent_until_ = Deadline::in(std::chrono::seconds(0));
};

}  // namespace nutshell::docker
