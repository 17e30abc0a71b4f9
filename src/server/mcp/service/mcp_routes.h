// MCP as routes of the daemon's API: /mcp, and the document that names its authorization servers.
// Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/sandbox_spec.h"
#include "server/http/route.h"
#include "service/service.h"
#include "tools/registry.h"

namespace nutshell::mcp {

struct McpRoutesOptions {
  ToolChoice tools;
  bool has_many = false;       // calls may name a sandbox; tools that make and end them
  bool is_structured = false;  // results have structured content too
  SandboxSpec spec;            // of a client's sandbox
  std::chrono::milliseconds lease{86'400'000};
  std::size_t most_sessions_of_one = 256;
  std::string resource_url;                        // where clients reach /mcp from outside
  std::vector<std::string> authorization_servers;  // may be empty
};

class McpRoutes {
 public:
  static Result<std::unique_ptr<McpRoutes>> make(service::Service& service,
                                                 const McpRoutesOptions& options);
  virtual ~McpRoutes() = default;
  McpRoutes(const McpRoutes&) = delete;
  McpRoutes& operator=(const McpRoutes&) = delete;

  // The routes refer to this object.
  virtual std::vector<server::Route> routes() = 0;

 protected:
  McpRoutes() = default;
};

}  // namespace nutshell::mcp
