// Connections to inits that are kept after use: the next exec costs no new one. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "service/lanes.h"
#include "wire/init_client.h"

namespace nutshell::service {

struct Connection {
  int descriptor = -1;  // of the client's stream, to see whether it still stands
  wire::InitClient client;
};

class Connections {
 public:
  explicit Connections(Lanes& lanes) : lanes_(lanes) {}

  // One that nobody else uses. Given back by keep(); one whose conversation went wrong is not.
  Result<Connection> take(const std::string& sandbox);
  void keep(const std::string& sandbox, Connection connection);
  // Makes one ahead.
  Result<> prepare(const std::string& sandbox);
  // Of those that wait: false once its sandbox has ended. True where none waits.
  bool stands(const std::string& sandbox);
  void forget(const std::string& sandbox);

 private:
  static constexpr std::size_t kMostIdleEach = 4;
  static constexpr std::size_t kMostIdle = 2048;
  struct State {
    std::map<std::string, std::vector<Connection>> idle;
    std::size_t count = 0;
  };
  Result<Connection> open(const std::string& sandbox);

  Lanes& lanes_;
  Guarded<State> state_;
};

}  // namespace nutshell::service
