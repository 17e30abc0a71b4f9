// One thread that holds the connections whose next request is not here yet: it accepts them, shakes
// hands, gathers heads and short bodies, and drops who takes too long.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/guarded.h"
#include "base/unique_fd.h"
#include "http/connection.h"
#include "http/server.h"

namespace nutshell::http {

class Poller {
 public:
  // Gets a connection that has a request, and gives it back if it cannot be served.
  using Dispatch = std::function<std::unique_ptr<Connection>(std::unique_ptr<Connection>)>;

  static Result<std::unique_ptr<Poller>> create(std::vector<Endpoint> endpoints,
                                                const ServerLimits& limits, Dispatch dispatch);
  void start();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  // The thread ends; what it is given from now on is only kept.
  void end();
  // From any thread: holds it until its next request.
  void hold(std::unique_ptr<Connection> connection);
  // From any thread: no new connections, and none that waits for a request.
  void stop_accepting();

  // Of all connections, wherever they are; workers count down what they end.
  std::atomic<std::size_t> connections{0};
  std::atomic<std::uint64_t> refused{0};

 private:
  Poller(std::vector<Endpoint> endpoints, const ServerLimits& limits, Dispatch dispatch)
      : endpoints_(std::move(endpoints)), limits_(limits), dispatch_(std::move(dispatch)) {}

  struct Held {
    std::unique_ptr<Connection> connection;
    std::uint32_t events = 0;
  };
  Result<> prepare();
  void run();
  void accept_all(const Endpoint& endpoint);
  void begin(UniqueFd socket, const Endpoint& endpoint);
  void take_returned();
  void advance(int descriptor);
  void consider(std::unique_ptr<Connection> connection);
  void keep_watching(std::unique_ptr<Connection> connection, std::uint32_t events);
  void answer_refusal(std::unique_ptr<Connection> connection, const Refusal& refusal);
  void drop(std::unique_ptr<Connection> connection);
  void drop_late();
  void forget_listeners();

  std::vector<Endpoint> endpoints_;
  const ServerLimits& limits_;
  Dispatch dispatch_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::unordered_map<int, Held> held_;
  Guarded<std::vector<std::unique_ptr<Connection>>> returned_;
  std::atomic<bool> is_ending_{false};
  std::atomic<bool> is_accepting_{true};
  bool has_listeners_ = true;
  std::thread thread_;
};

}  // namespace nutshell::http
