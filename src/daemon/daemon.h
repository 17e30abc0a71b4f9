// The daemon: makes its parts, serves, and handles the signals that end or reload it.
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
  std::filesystem::path config;    // empty for none
  std::string socket;              // replaces the value of the file
  std::string state;               // likewise
  std::string roche_port;          // likewise
  bool is_private = false;         // ends with its parent, and ends its sandboxes then
  bool shows_config = false;       // prints the settings and exits
  bool is_json = false;            // prints them as JSON
  bool recovers = false;           // recovers the state file and exits
  std::filesystem::path programs;  // where our other programs are
};

Result<Config> load_config(const Command& command);
// "socket.path = …  (nutshelld.toml:3)", a line each.
std::string describe(const Config& config);
std::string describe_as_json(const Config& config);

// Renames a damaged state file and copies what can be read of it. Returns a description of what was
// done.
Result<std::string> recover(const Command& command);

class Daemon {
 public:
  static Result<std::unique_ptr<Daemon>> start(const Command& command);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Serves until a signal, or the parent's death, ends the daemon.
  Result<> run();
  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  explicit Daemon(const Command& command) : command_(command) {}
  Result<> open(const Config& config);
  Result<> watch_parent();
  Result<> listen(const Config& config);
  Result<> bind_tcp(const Config& config);
  Result<> bind_roche(const Config& config);
  Result<std::vector<http::Endpoint>> endpoints(const Config& config);
  Result<> make_private();
  void reload();
  void drain();
  void end_sandboxes();

  Command command_;
  std::optional<Config> config_;  // as last read
  std::filesystem::path state_directory_;
  std::string socket_;
  bool owns_socket_ = false;  // whether to remove the socket file at the end
  std::filesystem::path private_directory_;
  std::chrono::milliseconds drain_time_{30'000};
  UniqueFd signals_;
  UniqueFd parent_;
  std::unique_ptr<telemetry::Exporter> exporter_;  // first, because the others send spans to it
  std::unique_ptr<service::Service> service_;
  std::unique_ptr<server::Gate> gate_;
  std::unique_ptr<mcp::McpRoutes> mcp_;
  std::unique_ptr<server::Api> api_;
  std::optional<http::Endpoint> tcp_;  // until server_ has it
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<server::GrpcServer> grpc_;
  std::string grpc_socket_;          // removed at the end
  UniqueFd roche_;                   // listens for clients of Roche, until the gRPC server has it
  std::filesystem::path discovery_;  // the file that tells them the port, removed at the end
};

}  // namespace nutshell::daemon
