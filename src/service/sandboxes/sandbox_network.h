// The networks of sandboxes, for callers of the service: their policies, what was tried, and
// changes of a policy. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/network_report.h"
#include "runtime/runtime.h"
#include "service/sandboxes/sandbox_operations.h"

namespace nutshell::service {

class SandboxNetwork {
 public:
  struct Dependencies {
    Runtime& runtime;
    SandboxTable& table;
    Operations& operations;
  };
  explicit SandboxNetwork(const Dependencies& uses) : uses_(uses) {}

  Result<NetworkStatus> status(const Caller& caller, const std::string& id);
  // Ends the connections that the policy does not allow. Only for callers that may make a sandbox
  // with a network.
  Result<NetworkStatus> set(const Caller& caller, const std::string& id,
                            const NetworkPolicy& policy);
  // The events with a greater number than `after`, oldest first.
  Result<std::vector<NetworkEvent>> events(const Caller& caller, const std::string& id,
                                           std::uint64_t after);

 private:
  Dependencies uses_;
};

}  // namespace nutshell::service
