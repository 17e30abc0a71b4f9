// Connects to the inits of containers: directly, for root on the engine's own machine, else through
// the engine.
#pragma once

#include <string>

#include "backends/docker/engine/engine.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/stream_relays.h"

namespace nutshell::docker {

class ContainerStreams {
 public:
  // `engine` must outlive this object.
  explicit ContainerStreams(Engine& engine) : engine_(engine) {}

  // The standard input and output of a container that is not started yet. Sends init its orders.
  // This connection needs no process of its own and exists as soon as init does.
  Result<UniqueFd> attach(const std::string& id, const std::string& orders);

  // Opens another connection; the next two in turn.
  Result<UniqueFd> open(const std::string& id);
  // Connects to init's socket in the container's network namespace. A descriptor that is not open
  // where that is impossible; an error if the engine had to be asked and did not answer.
  Result<UniqueFd> open_directly(const std::string& id);
  // Runs `nutshell-init connect` in the container and bridges its streams.
  Result<UniqueFd> open_by_engine(const std::string& id);

 private:
  Result<UniqueFd> connect_to_known_process(const std::string& id);
  Result<UniqueFd> connect_to_running_process(const std::string& id);
  // Makes a plain socket of a stream that the engine handed over.
  Result<UniqueFd> carry(http::Client::Upgraded upgraded);
  Result<int> ask_for_process(const std::string& id);

  Engine& engine_;
  http::StreamRelays relays_;
};

}  // namespace nutshell::docker
