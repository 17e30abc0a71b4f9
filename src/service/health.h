// Figures and readiness of the whole service. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "audit/chains.h"
#include "service/evidence/metrics.h"
#include "service/pools/pools.h"
#include "service/sandboxes/reconciler.h"
#include "service/state/work_gate.h"

namespace nutshell::service {

class Health {
 public:
  struct Dependencies {
    Metrics& metrics;
    SandboxTable& table;
    Reconciler& reconciler;
    Pools& pools;
    audit::Chains& chains;
    Operations& operations;
    Database& database;
    WorkGate& gate;
  };
  explicit Health(const Dependencies& uses) : uses_(uses) {}

  // Figures of the whole daemon. A caller on the daemon's own socket sees all pools, others see
  // those that they may use.
  MetricsSnapshot metrics(const Caller& caller);
  // Empty if the service is ready; else the reason, such as a record that cannot be written.
  std::string why_not_ready();
  // Backends that have not answered since the start, each with the reason. All others can be used.
  std::map<std::string, std::string> unanswered_backends();

 private:
  Dependencies uses_;
  std::mutex mutex_;
  Clock::time_point next_record_try_;  // guarded by mutex_
};

}  // namespace nutshell::service
