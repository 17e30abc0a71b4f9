// Native sandboxes as the launcher makes them, for contenders to take samples of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/native/start/starter.h"
#include "bench/measure.h"
#include "wire/exec_io.h"
#include "wire/init_client.h"

namespace nutshell::bench {

enum class Pieces {
  MadeWhenNeeded,  // no pool
  Recycled,        // the pool holds what finished sandboxes gave back
  MadeAhead,       // and is filled between samples, as the launcher does in idle moments
};

// From nothing to the end of `command` to nothing.
MakeSampler whole_life(Pieces pieces, std::vector<std::string> command);

// One sandbox that stays, and a client connected to it.
class RunningSandbox {
 public:
  static Result<RunningSandbox> start();
  RunningSandbox(RunningSandbox&&) = default;
  RunningSandbox& operator=(RunningSandbox&&) = delete;
  ~RunningSandbox();

  // Fails unless the command exits with 0.
  Result<wire::CapturedOutput> exec(const std::vector<std::string>& command);

 private:
  RunningSandbox(native::Starter starter, native::NativeSandbox sandbox, wire::InitClient client)
      : starter_(std::move(starter)), sandbox_(std::move(sandbox)), client_(std::move(client)) {}

  native::Starter starter_;
  native::NativeSandbox sandbox_;
  wire::InitClient client_;
};

Result<wire::CapturedOutput> exec_to_success(wire::InitClient& client,
                                             const std::vector<std::string>& command);

// The protections of sandboxes with a default spec here, in one line.
std::string protections_here();

}  // namespace nutshell::bench
