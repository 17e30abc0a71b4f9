#include "server/mcp/service/mcp_routes.h"

#include "server/mcp/http_endpoint.h"
#include "server/mcp/sandbox/sandbox_host.h"
#include "server/mcp/service/service_sandboxes.h"

namespace nutshell::mcp {
namespace {

using server::Route;

constexpr const char* kMetadataPath = "/.well-known/oauth-protected-resource";

Failure only_over_http() {
  return failure(ErrorCode::Unsupported, "MCP is served over HTTP, not over gRPC: POST to /mcp");
}

SandboxHostOptions host_options(const McpRoutesOptions& given, std::vector<Tool> tools) {
  SandboxHostOptions options;
  options.version = NUTSHELL_VERSION;
  options.tools = std::move(tools);
  options.policy.prefix = given.tools.prefix;
  options.policy.is_structured = given.is_structured;
  options.calls.reads_only = given.tools.reads_only;
  options.calls.takes_images = true;
  options.calls.wants_fields = given.is_structured;
  options.choosing = given.has_many ? Choosing::Many : Choosing::One;
  options.spec = given.spec;
  return options;
}

class Mounted : public McpRoutes {
 public:
  Mounted(service::Service& service, const McpRoutesOptions& options, std::vector<Tool> tools)
      : sandboxes_(service, {options.tools.prefix, options.lease}),
        host_(sandboxes_, host_options(options, std::move(tools))),
        server_(host_),
        endpoint_(server_, endpoint_options(options)),
        has_metadata_(!options.authorization_servers.empty()) {}

  std::vector<Route> routes() override {
    std::vector<Route> all;
    for (const char* method : {"POST", "GET", "DELETE"})
      all.push_back(endpoint_route(method));
    if (!has_metadata_) return all;
    all.push_back(metadata_route(kMetadataPath, "getMcpMetadata"));
    all.push_back(metadata_route(std::string(kMetadataPath) + "/mcp", "getMcpMetadataOfPath"));
    return all;
  }

 private:
  HttpEndpointOptions endpoint_options(const McpRoutesOptions& given) {
    HttpEndpointOptions options;
    options.resource_url = given.resource_url;
    options.authorization_servers = given.authorization_servers;
    options.most_sessions_of_one = given.most_sessions_of_one;
    options.revive = [this](const Client& client) {
      return sandboxes_.revision_of(host_.session_of(client));
    };
    return options;
  }

  Route endpoint_route(const std::string& method) {
    Route route{
        .method = method,
        .path = "/mcp",
        .name = "mcp" + method,
        .summary = "The Model Context Protocol, streamable HTTP",
        .handle = [this](server::Call& call) -> Result<> {
          Visitor visitor{sandboxes_.admit(call.caller), server::text_parameter(call, "session")};
          if (call.exchange == nullptr) return only_over_http();
          endpoint_.handle(*call.exchange, visitor);
          return {};
        },
        .body = Route::Body::Bytes,
        .is_other_protocol = true};
    route.query = {{.name = "session", .help = "the session to go on with, by its name"}};
    route.challenge = endpoint_.challenge();
    return route;
  }

  Route metadata_route(const std::string& path, const std::string& name) {
    return {.method = "GET",
            .path = path,
            .name = name,
            .summary = "Who gives tokens for /mcp (RFC 9728)",
            .handle = [this](server::Call& call) -> Result<> {
              if (call.exchange == nullptr) return only_over_http();
              endpoint_.handle_metadata(*call.exchange);
              return {};
            },
            .access = Route::Access::Anyone};
  }

  ServiceSandboxes sandboxes_;
  SandboxHost host_;
  Server server_;
  HttpEndpoint endpoint_;
  bool has_metadata_;
};

}  // namespace

Result<std::unique_ptr<McpRoutes>> McpRoutes::make(service::Service& service,
                                                   const McpRoutesOptions& options) {
  return std::make_unique<Mounted>(service, options, TRY(choose_tools(options.tools)));
}

}  // namespace nutshell::mcp
