#include "egress/inspect/inspect.h"

#include "egress/inspect/http_gate.h"

namespace nutshell::egress {

void serve_http(UniqueFd client, const std::string& host, std::uint16_t port, FlowGuard& guard,
                const InspectSettings& settings) {
  const auto transport = http::make_bare_transport(std::move(client));
  if (!transport) return;  // the guard is told nothing: no request was read
  const GateTerms terms{
      {"http", 80}, {host, port}, guard, settings, [](UniqueFd socket, const std::string&) {
        return http::make_bare_transport(std::move(socket));
      }};
  serve_requests(**transport, terms);
}

}  // namespace nutshell::egress
