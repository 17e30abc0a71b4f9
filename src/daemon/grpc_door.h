// Starts the gRPC server if the configuration has one.
#pragma once

#include <memory>

#include "daemon/config.h"
#include "server/grpc/server.h"
#include "telemetry/exporter.h"

namespace nutshell::daemon {

// Null if it is not configured; Unsupported if this build has no gRPC.
Result<std::unique_ptr<server::GrpcServer>> open_grpc(const Config& config,
                                                      service::Service& service, server::Gate& gate,
                                                      telemetry::Exporter* exporter);

}  // namespace nutshell::daemon
