// Starts the gRPC server if the configuration has one.
#pragma once

#include <memory>

#include "daemon/config.h"
#include "server/grpc/server.h"
#include "telemetry/exporter.h"

namespace nutshell::daemon {

// `roche` listens for clients of Roche; it may be empty. Null if nothing is configured; Unsupported
// if this build has no gRPC.
Result<std::unique_ptr<server::GrpcServer>> open_grpc(const Config& config,
                                                      service::Service& service, server::Gate& gate,
                                                      telemetry::Exporter* exporter,
                                                      UniqueFd roche);

}  // namespace nutshell::daemon
