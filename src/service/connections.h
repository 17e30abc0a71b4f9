// Connections to inits that are kept after use: the next exec costs no new one. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "service/lanes.h"
#include "wire/init_client.h"

namespace nutshell::service {

struct Connection {
  wire::InitClient client;
};

class Connections {
 public:
  // The backend of a sandbox; empty: it is not known (any more).
  using BackendOf = std::function<std::string(const std::string& sandbox)>;
  Connections(Lanes& lanes, BackendOf backend_of)
      : lanes_(lanes), backend_of_(std::move(backend_of)) {}

  // One that nobody else uses. Given back by keep(); one whose conversation went wrong is not.
  Result<Connection> take(const std::string& sandbox);
  void keep(const std::string& sandbox, Connection connection);
  void keep(const std::string& sandbox, wire::InitClient client);
  // Sees to it that one waits, and that its init answers.
  Result<> prepare(const std::string& sandbox);
  // Whether its init does, before the deadline, over a connection that waits or a new one.
  Result<> ping(const std::string& sandbox, const Deadline& deadline);
  // Of those that wait: false once its sandbox has ended. True where none waits.
  bool stands(const std::string& sandbox);
  void forget(const std::string& sandbox);
  // Closes those of sandboxes that are no longer known: a call that was on while its sandbox was
  // forgotten gives its connection back afterwards.
  void drop_ended();

 private:
  static constexpr std::size_t kMostIdleEach = 4;
  static constexpr std::size_t kMostIdle = 2048;
  struct State {
    std::map<std::string, std::vector<Connection>> idle;
    std::size_t count = 0;
  };
  Result<Connection> open(const std::string& sandbox);

  Lanes& lanes_;
  BackendOf backend_of_;
  Guarded<State> state_;
};

}  // namespace nutshell::service
