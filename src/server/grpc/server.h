// The gRPC server: nutshell.v1 on a Unix socket and on TCP, with reflection and the health service.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/server.h"
#include "server/grpc/methods.h"
#include "server/http/api.h"
#include "server/http/gate.h"
#include "service/service.h"
#include "telemetry/span.h"

namespace nutshell::server {

struct GrpcTls {
  std::filesystem::path certificate;  // PEM, the chain; without it there is no TLS
  std::filesystem::path key;
  std::filesystem::path client_authority;  // if given, clients must have a certificate signed by it
};

struct GrpcOptions {
  service::Service& service;
  Gate& gate;
  UniqueFd socket = {};  // a listening Unix socket; may be empty
  UniqueFd tcp = {};     // likewise of TCP
  // Likewise of TCP at 127.0.0.1, without TLS and tokens: for processes of the daemon's user, and
  // root's.
  UniqueFd own_users_tcp = {};
  std::vector<Method> more_methods = {};  // of one other service
  GrpcTls tls = {};
  http::ServerLimits limits = {};  // the same as for HTTP
  std::size_t most_message_bytes = 17U << 20U;
  std::chrono::milliseconds first_time{10'000};  // in which a call's first message must come
  std::chrono::milliseconds stall_time{30'000};  // for one write
  std::chrono::milliseconds idle_time{75'000};   // of a connection without calls
  std::function<void(const Answered&)> log = [](const Answered&) {};
  telemetry::SpanSink* spans = nullptr;  // nullptr: no spans
  std::function<service::MetricsSnapshot()> more_metrics = [] {
    return service::MetricsSnapshot();
  };
};

class GrpcServer {
 public:
  static Result<std::unique_ptr<GrpcServer>> start(GrpcOptions options);
  virtual ~GrpcServer() = default;  // drains with a deadline that has passed

  // Accepts no more calls. Calls that run may end until the deadline; then they are cancelled, and
  // the result is false.
  virtual bool drain(const Deadline& deadline) = 0;
};

}  // namespace nutshell::server
