// Ports of sandboxes that their owners opened to clients of the daemon. A client shows the token of
// the port, and nothing else. They are open until they are closed, the sandbox ends, or the service
// does. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "runtime/dial.h"
#include "service/model/caller.h"
#include "service/model/port_view.h"
#include "service/sandboxes/sandbox_operations.h"
#include "service/sandboxes/sandboxes.h"

namespace nutshell::service {

// A connection to a server inside. The sandbox counts as used while it exists.
struct PortConnection {
  SandboxTable::Use use;
  std::unique_ptr<InsideSocket> socket;
};

class Ports {
 public:
  struct Dependencies {
    Runtime& runtime;
    SandboxTable& table;
    Sandboxes& sandboxes;
    SandboxOperations& sandbox_operations;
    Operations& operations;
  };
  explicit Ports(const Dependencies& uses) : uses_(uses) {}

  static constexpr std::size_t kMostOpen = 32;  // of one sandbox

  // A port that is open already stays as it is.
  Result<PortView> open(const Caller& caller, const std::string& id, std::uint16_t port);
  // Ordered by their numbers.
  Result<std::vector<PortView>> list(const Caller& caller, const std::string& id);
  Result<> close(const Caller& caller, const std::string& id, std::uint16_t port);
  // Closes the ports of a sandbox that has ended.
  void forget(const SandboxEntry& entry);

  // A client shows this; all of it comes from the URL.
  struct Ticket {
    std::string sandbox;  // the whole id
    std::uint16_t port = 0;
    std::string_view token;
  };
  // The tenant whose port it is; nullopt if the ticket is not valid.
  std::optional<std::string> tenant_of(const Ticket& ticket);
  // Connects to the server. The connection breaks when `stop` becomes readable; -1: never.
  // NotFound, without a difference, if the ticket is not valid.
  Result<PortConnection> connect(const Ticket& ticket, int stop);

 private:
  struct Open {
    std::string tenant;
    PortView view;
  };
  using State = std::map<std::string, std::map<std::uint16_t, Open>>;  // by sandbox and port
  // nullptr if the ticket is not valid.
  static Open* find(State& state, const Ticket& ticket);
  void note_closed(const Caller& caller, const Subject& subject, const PortView& view);

  Dependencies uses_;
  Guarded<State> state_;
};

}  // namespace nutshell::service
