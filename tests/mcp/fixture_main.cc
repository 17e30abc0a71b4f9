// mcp-fixture: the conformance fixtures over HTTP on a loopback port, or over stdio.
//   mcp-fixture --http     prints the address, serves until standard input ends
//   mcp-fixture            serves standard input and output
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "fixture_host.h"
#include "http/server.h"
#include "server/mcp/http_endpoint.h"
#include "server/mcp/stdio.h"

namespace nutshell::mcp {
namespace {

Result<> serve_http(Server& server) {
  HttpEndpoint endpoint(server, {});
  UniqueFd listener = TRY(http::listen_on_tcp("127.0.0.1", 0));
  const std::uint16_t port = TRY(http::port_of(listener.get()));
  std::vector<http::Endpoint> endpoints(1);
  endpoints[0].listener = std::move(listener);
  const auto running = TRY(http::Server::start(
      std::move(endpoints), [&endpoint](http::Exchange& exchange) { endpoint.handle(exchange); }));
  fmt::print("http://127.0.0.1:{}/mcp\n", port);
  std::fflush(stdout);
  (void)read_all(STDIN_FILENO, 1U << 20U);  // whatever comes, its end is what counts
  return {};
}

}  // namespace
}  // namespace nutshell::mcp

int main(int argc, char** argv) {
  using namespace nutshell::mcp;
  FixtureHost host;
  Server server(host);
  host.set_server(server);
  const bool is_http = argc > 1 && std::strcmp(argv[1], "--http") == 0;
  const auto served = is_http ? serve_http(server) : serve_stdio(server, {});
  if (served) return 0;
  fmt::print(stderr, "mcp-fixture: {}\n", served.error().message);
  return 1;
}
