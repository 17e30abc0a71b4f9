// A thread that holds the connections of one listener while they wait for a request: it accepts
// them, does the TLS handshake, reads heads and short bodies, and drops connections that take too
// long. When places get scarce it drops idle connections: those of strangers first, oldest first.
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
#include "http/connection_places.h"
#include "http/server.h"

namespace nutshell::http {

class Poller {
 public:
  // Takes a connection with a complete request; returns it if it cannot be served.
  using Dispatch = std::function<std::unique_ptr<Connection>(std::unique_ptr<Connection>)>;

  static Result<std::unique_ptr<Poller>> create(Endpoint endpoint, const ServerLimits& limits,
                                                Dispatch dispatch, std::function<void()> look);
  void start();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  // Ends the thread. Connections that are added later are only kept.
  void end();
  // Holds the connection until its next request. From any thread.
  void hold(std::unique_ptr<Connection> connection);
  // Accepts no more connections and drops those that wait for a request. From any thread.
  void stop_accepting();

  // The connections of this listener, also those that a worker serves.
  [[nodiscard]] std::size_t connections() const { return places_.total(); }
  std::atomic<std::uint64_t> refused{0};

 private:
  Poller(Endpoint endpoint, const ServerLimits& limits, Dispatch dispatch,
         std::function<void()> look)
      : endpoint_(std::move(endpoint)),
        limits_(limits),
        dispatch_(std::move(dispatch)),
        look_(std::move(look)) {}

  struct Waiting {
    std::unique_ptr<Connection> connection;
    std::uint32_t events = 0;
  };
  Result<> prepare();
  Result<> watch(int descriptor);
  void run();
  void accept_all();
  void begin(UniqueFd socket);
  // Whether one more connection of this group fits, after dropping idle ones if need be.
  bool has_place_for(const std::string& group);
  bool make_room(const std::string& group, const std::string& prefix);
  void take_returned();
  void advance(int descriptor);
  void consider(std::unique_ptr<Connection> connection);
  void keep_watching(std::unique_ptr<Connection> connection, std::uint32_t events);
  void answer_refusal(std::unique_ptr<Connection> connection, const Refusal& refusal);
  void drop(std::unique_ptr<Connection> connection);
  void drop_late();
  void forget_listener();

  Endpoint endpoint_;
  const ServerLimits& limits_;
  Dispatch dispatch_;
  std::function<void()> look_;  // called a few times a second
  ConnectionPlaces places_;     // outlives the connections below
  UniqueFd epoll_;
  UniqueFd wake_;
  std::unordered_map<int, Waiting> waiting_;
  Guarded<std::vector<std::unique_ptr<Connection>>> returned_;
  std::atomic<bool> is_ending_{false};
  std::atomic<bool> is_accepting_{true};
  bool has_listener_ = true;
  std::thread thread_;
};

}  // namespace nutshell::http
