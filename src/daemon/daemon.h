// The daemon: its parts in the order they need each other, and the signals that end or reload it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "daemon/config.h"
#include "http/server.h"
#include "server/grpc/server.h"
#include "server/http/api.h"
#include "server/http/gate.h"
#include "server/mcp/service/mcp_routes.h"
#include "service/service.h"
#include "telemetry/exporter.h"

namespace nutshell::daemon {

struct Command {
  std::filesystem::path config;    // empty: none
  std::string socket;              // over the file's
  std::string state;               //
  bool is_private = false;         // dies with its parent, and with it its sandboxes
  bool shows_config = false;       // prints the settings and ends
  bool recovers = false;           // mends the state file and ends
  std::filesystem::path programs;  // where our other programs are
};

Result<Config> load_config(const Command& command);
// "socket.path = …  (nutshelld.toml:3)", a line each.
std::string describe(const Config& config);

// Puts a damaged state file aside and goes on with what it still has. Gives words for what was
// done.
Result<std::string> recover(const Command& command);

class Daemon {
 public:
  static Result<std::unique_ptr<Daemon>> start(const Command& command);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Until a signal, or the parent's death, ends it.
  Result<> run();
  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  explicit Daemon(const Command& command) : command_(command) {}
  Result<> open(const Config& config);
  Result<> watch_parent();
  Result<> listen(const Config& config);
  Result<std::vector<http::Endpoint>> endpoints(const Config& config);
  Result<> make_private();
  void reload();
  void drain();
  void end_sandboxes();

  Command command_;
  std::optional<Config> config_;  // the last one that was read
  std::filesystem::path state_directory_;
  std::string socket_;
  bool owns_socket_ = false;  // the file is ours to remove
  std::filesystem::path private_directory_;
  std::chrono::milliseconds drain_time_{30'000};
  UniqueFd signals_;
  UniqueFd parent_;
  std::unique_ptr<telemetry::Exporter> exporter_;  // of what the others do: outlives them
  std::unique_ptr<service::Service> service_;
  std::unique_ptr<server::Gate> gate_;
  std::unique_ptr<mcp::McpRoutes> mcp_;
  std::unique_ptr<server::Api> api_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<server::GrpcServer> grpc_;
  std::string grpc_socket_;  // to be removed
};

}  // namespace nutshell::daemon
