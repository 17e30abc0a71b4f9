// mcp-http-host PROGRAMS: the product's own host over HTTP on a loopback port, for clients that
// speak HTTP. Prints its address and serves until standard input ends. With tokens as further
// arguments, each is an owner of its own; without, there is one owner.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "base/sha256.h"
#include "http/server.h"
#include "init/init.h"
#include "server/mcp/http_endpoint.h"
#include "server/mcp/sandbox/runtime_sandboxes.h"
#include "server/mcp/sandbox/sandbox_host.h"
#include "tools/registry.h"

namespace nutshell::mcp {
namespace {

SandboxHostOptions options_for_tests() {
  SandboxHostOptions options;
  options.version = "0";
  ToolChoice choice;
  choice.prefix = "sandbox_";
  if (auto tools = choose_tools(choice)) options.tools = std::move(*tools);
  options.policy.prefix = choice.prefix;
  options.choosing = Choosing::Many;
  options.spec.ttl = std::chrono::minutes(10);
  options.session = session_label("test", "http");
  return options;
}

// The owner is the token's digest: a name that is no secret.
HttpEndpointOptions endpoint_options(std::vector<std::string> tokens) {
  HttpEndpointOptions options;
  options.resource_url = "http://127.0.0.1/mcp";
  options.authorization_servers = {"https://login.example.com"};
  if (tokens.empty()) return options;
  options.owner_of =
      [tokens = std::move(tokens)](const http::Exchange& exchange) -> std::optional<std::string> {
    const std::string_view given = exchange.headers().get("Authorization");
    for (const std::string& token : tokens)
      if (given == "Bearer " + token) return sha256_hex(token);
    return std::nullopt;
  };
  return options;
}

Result<> serve(const std::string& programs, std::vector<std::string> tokens) {
  RuntimeSandboxes sandboxes({&init::run_init, programs});
  SandboxHost host(sandboxes, options_for_tests());
  Server server(host);
  HttpEndpoint endpoint(server, endpoint_options(std::move(tokens)));
  UniqueFd listener = TRY(http::listen_on_tcp("127.0.0.1", 0));
  const std::uint16_t port = TRY(http::port_of(listener.get()));
  std::vector<http::Endpoint> endpoints(1);
  endpoints[0].listener = std::move(listener);
  const auto handle = [&endpoint](http::Exchange& exchange) {
    const std::string& path = exchange.target().path;
    if (path == "/mcp") return endpoint.handle(exchange);
    if (path.starts_with("/.well-known/oauth-protected-resource"))
      return endpoint.handle_metadata(exchange);
    (void)exchange.respond(404, {}, "");
  };
  const auto running = TRY(http::Server::start(std::move(endpoints), handle));
  fmt::print("http://127.0.0.1:{}/mcp\n", port);
  std::fflush(stdout);
  (void)read_all(STDIN_FILENO, 1U << 20U);  // whatever comes, its end is what counts
  return {};
}

}  // namespace
}  // namespace nutshell::mcp

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto served = nutshell::mcp::serve(argv[1], {argv + 2, argv + argc});
  if (served) return 0;
  fmt::print(stderr, "mcp-http-host: {}\n", served.error().message);
  return 1;
}
