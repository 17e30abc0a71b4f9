// Opens gRPC where the configuration wants it.
#pragma once

#include <memory>

#include "daemon/config.h"
#include "server/grpc/server.h"
#include "telemetry/exporter.h"

namespace nutshell::daemon {

// Nothing: it is not configured. Unsupported: it is, and this build has none.
Result<std::unique_ptr<server::GrpcServer>> open_grpc(const Config& config,
                                                      service::Service& service, server::Gate& gate,
                                                      telemetry::Exporter* exporter);

}  // namespace nutshell::daemon
