// An HTTP/1.1 server with threads and blocking handlers. A poller thread holds every connection
// that waits for a request, so that a slow client costs a descriptor and no thread; a bounded pool
// of workers runs the handlers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/admission.h"
#include "http/exchange.h"
#include "http/transport.h"

namespace nutshell::http {

struct ServerLimits {
  std::size_t header_bytes = 32U << 10U;
  // The poller waits for bodies up to this size; the handler reads longer ones, and those of
  // unknown length. The body of a stranger is never read.
  std::size_t awaited_body_bytes = 64U << 10U;
  std::chrono::milliseconds head_time{10'000};   // from the first byte, with a short body
  std::chrono::milliseconds idle_time{75'000};   // between requests
  std::chrono::milliseconds stall_time{30'000};  // one read or write of a handler
  std::size_t connections = 4096;                // for each listener
  std::size_t connections_of_tenant = 1024;      // on one listener
  std::size_t connections_of_stranger = 512;     // from one address without a token
  std::size_t workers = 512;                     // requests at once
  std::size_t workers_of_tenant = 128;
  std::size_t body_bytes = 256U << 20U;  // memory for all bodies that are read whole
  std::size_t body_bytes_of_tenant = 64U << 20U;
  // Decides which client a request is counted for. Must be quick and thread-safe. If empty, all
  // requests are the owner's.
  Admit admit = nullptr;
  // Selects requests whose handler never waits: the poller answers them itself, however busy the
  // workers are.
  std::function<bool(const RequestHead&)> are_quick = nullptr;
};

// Where to listen. The socket is bound and listens already.
struct Endpoint {
  UniqueFd listener;
  MakeTransport make_transport = make_bare_transport;
};

// Makes the socket with mode 0600. A socket file without a listener is replaced; one in use is
// AlreadyExists.
Result<UniqueFd> listen_on_unix(const std::filesystem::path& path);
// `address` is like "127.0.0.1" or "::1"; port 0 takes any free port.
Result<UniqueFd> listen_on_tcp(const std::string& address, std::uint16_t port);
Result<std::uint16_t> port_of(int listener);

struct ServerFigures {
  std::size_t connections = 0;
  std::size_t workers = 0;
  std::size_t busy_workers = 0;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // without calling a handler
};

// Thread-safe. The handler is called by many threads at once and may block.
class Server {
 public:
  using Handler = std::function<void(Exchange&)>;

  static Result<std::unique_ptr<Server>> start(std::vector<Endpoint> endpoints, Handler handler,
                                               const ServerLimits& limits = {});
  virtual ~Server() = default;  // drains with a deadline that has passed

  // Accepts no more connections. Requests that run may end until the deadline; then their
  // connections are cut, and the result is false.
  virtual bool drain(const Deadline& deadline) = 0;
  // Called when the rules behind `admit` have changed: cuts requests under way that they would now
  // count for another client.
  virtual void admit_again() = 0;
  [[nodiscard]] virtual ServerFigures figures() const = 0;
};

}  // namespace nutshell::http
