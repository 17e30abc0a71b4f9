#include "backends/docker/engine/engine.h"

#include <unistd.h>

namespace nutshell::docker {

Result<EngineClient*> Engine::find() {
  if (!client_) client_.emplace(TRY(find_engine(kind_, variable_of_process)));
  return &*client_;
}

Result<EngineClient*> Engine::reach() {
  EngineClient* client = TRY(find());
  TRY(client->version());
  return client;
}

Result<EngineClient*> Engine::reach_if_present() {
  auto reached = reach();
  if (!reached && is_absent())
    return failure(ErrorCode::NotFound, "there is no engine, and so no sandbox");
  return reached;
}

bool Engine::is_absent() const {
  return client_ && client_->address().is_local() &&
         ::access(client_->address().socket.c_str(), W_OK) != 0;
}

bool Engine::is_silent() {
  constexpr std::chrono::seconds kPingTime{1};
  constexpr std::chrono::seconds kSilentTime{5};
  if (was_silent()) return true;
  const auto client = find();
  if (!client || (*client)->ping(kPingTime)) return false;
  silent_until_ = Deadline::in(kSilentTime);
  return true;
}

Result<> Engine::check_direct_access() {
  if (TRY(find())->address().is_local() && ::geteuid() == 0) return {};
  return failure(ErrorCode::Unsupported,
                 "only root on the engine's own machine can enter a container without the engine");
}

Result<const EngineFacts*> Engine::facts() {
  if (!facts_) facts_ = TRY(read_engine_facts(*TRY(reach())));
  return &*facts_;
}

}  // namespace nutshell::docker
