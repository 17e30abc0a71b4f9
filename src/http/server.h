// An HTTP/1.1 server of threads and blocking handlers. One poller thread holds every connection
// whose request is not here yet, so that slow clients cost a descriptor and no thread; a bounded
// pool of workers runs the handlers.
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
  // A body of this size is awaited by the poller; a longer one, or one of unknown length, is read
  // by its handler. That of a stranger is read by nobody.
  std::size_t awaited_body_bytes = 64U << 10U;
  std::chrono::milliseconds head_time{10'000};   // from its first byte, with an awaited body
  std::chrono::milliseconds idle_time{75'000};   // between requests
  std::chrono::milliseconds stall_time{30'000};  // one read or write of a handler
  std::size_t connections = 4096;                // of each listener
  std::size_t connections_of_tenant = 1024;      // on one listener
  std::size_t connections_of_stranger = 512;     // of one address that has not shown a token
  std::size_t workers = 512;                     // requests at once
  std::size_t workers_of_tenant = 128;
  std::size_t body_bytes = 256U << 20U;  // of all bodies that are read whole, at once
  std::size_t body_bytes_of_tenant = 64U << 20U;
  // Whom a request counts against. Must be quick and thread-safe. None: all are the owner's.
  Admit admit = nullptr;
  // Requests whose handler waits for nothing: the poller answers them itself, however busy all
  // others are.
  std::function<bool(const RequestHead&)> are_quick = nullptr;
};

// Where to listen. The socket is bound and listens already.
struct Endpoint {
  UniqueFd listener;
  MakeTransport make_transport = make_bare_transport;
};

// 0600 from birth; a socket file that nobody listens on is replaced, one in use is not.
Result<UniqueFd> listen_on_unix(const std::filesystem::path& path);
// "127.0.0.1", "::1"; port 0: any.
Result<UniqueFd> listen_on_tcp(const std::string& address, std::uint16_t port);
Result<std::uint16_t> port_of(int listener);

struct ServerFigures {
  std::size_t connections = 0;
  std::size_t workers = 0;
  std::size_t busy_workers = 0;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // before any handler saw them
};

// Thread-safe. The handler is called by many threads at once and may block.
class Server {
 public:
  using Handler = std::function<void(Exchange&)>;

  static Result<std::unique_ptr<Server>> start(std::vector<Endpoint> endpoints, Handler handler,
                                               const ServerLimits& limits = {});
  virtual ~Server() = default;  // drains without patience

  // Takes no more connections; requests that run may end until the deadline, then their
  // connections are cut. False: some were.
  virtual bool drain(const Deadline& deadline) = 0;
  // The rules of `admit` have changed: cuts requests under way that they would not admit as before.
  virtual void admit_again() = 0;
  [[nodiscard]] virtual ServerFigures figures() const = 0;
};

}  // namespace nutshell::http
