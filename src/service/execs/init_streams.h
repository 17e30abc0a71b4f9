// Streams to inits for clients that are a backend themselves (backends/daemon_client): they talk to
// a sandbox's init over a stream whose bytes the daemon carries. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "service/budgets/budget_watch.h"
#include "service/execs/stream_meter.h"
#include "service/sandboxes/ports.h"
#include "service/sandboxes/sandboxes.h"

namespace nutshell::service {

// The caller passes all bytes through the meter. The sandbox counts as in use while this exists.
struct InitStream {
  SandboxTable::Use use;
  UniqueFd descriptor;
  StreamMeter meter;
};

class InitStreams {
 public:
  struct Dependencies {
    Runtime& runtime;
    SandboxTable& table;
    Sandboxes& sandboxes;
    SandboxOperations& sandbox_operations;
    Operations& operations;
    Budgets& budgets;
    BudgetWatch& watch;
    GoneList& gone;
  };
  explicit InitStreams(const Dependencies& uses)
      : uses_(uses),
        ports_(
            {uses.runtime, uses.table, uses.sandboxes, uses.sandbox_operations, uses.operations}) {}

  // Streams to servers inside, for clients that show the token of a port.
  Ports& ports() { return ports_; }

  Result<std::unique_ptr<InitStream>> open(const Caller& caller, const std::string& id);
  // Ends a sandbox whose only stream has ended, and remembers why.
  void end_sandbox(const Caller& caller, const std::string& id);
  Result<> restack(const Caller& caller, const std::string& id,
                   const std::vector<std::string>& layers);
  Result<Gone> why_gone(const Caller& caller, const std::string& id);
  SweepReport sweep(const Caller& caller, SweepMode mode);

 private:
  Dependencies uses_;
  Ports ports_;
};

}  // namespace nutshell::service
