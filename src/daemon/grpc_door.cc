#include "daemon/grpc_door.h"

#include "daemon/log.h"
#include "daemon/server_limits.h"
#include "daemon/spans.h"
#include "http/server.h"
#ifdef NUTSHELL_GRPC
#include "server/grpc/roche/roche_methods.h"
#endif

namespace nutshell::daemon {

Result<std::unique_ptr<server::GrpcServer>> open_grpc(const Config& config,
                                                      service::Service& service, server::Gate& gate,
                                                      telemetry::Exporter* exporter,
                                                      UniqueFd roche) {
  const std::string& socket = config.text("grpc.socket");
  const std::uint64_t port = config.number("grpc.port");
  if (socket.empty() && port == 0 && !roche) return std::unique_ptr<server::GrpcServer>();
#ifdef NUTSHELL_GRPC
  if (port > 65535) return failure(ErrorCode::InvalidArgument, "grpc.port is at most 65535");
  server::GrpcOptions options{service, gate};
  if (!socket.empty()) options.socket = TRY(http::listen_on_unix(socket));
  if (port != 0) {
    options.tcp =
        TRY(http::listen_on_tcp(config.text("tcp.address"), static_cast<std::uint16_t>(port)));
  }
  options.own_users_tcp = std::move(roche);
  options.more_methods = TRY(server::roche_methods(
      TRY(roche::Choices::parse(config.text("roche.docker"), config.texts("roche.images")))));
  options.tls = {config.text("tcp.certificate"), config.text("tcp.key"),
                 config.text("tcp.client_authority")};
  options.limits = server_limits(config);
  if (config.is_true("log.requests")) options.log = log_request;
  options.spans = exporter;
  options.more_metrics = [exporter] { return metrics_of(exporter); };
  return server::GrpcServer::start(std::move(options));
#else
  (void)service;
  (void)gate;
  (void)exporter;
  (void)roche;
  return failure(ErrorCode::Unsupported, "grpc: this nutshelld is built without gRPC");
#endif
}

}  // namespace nutshell::daemon
