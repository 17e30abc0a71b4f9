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

void serve_tls(UniqueFd client, const std::string& name, std::uint16_t port, FlowGuard& guard,
               const InspectSettings& settings) {
  const Deadline deadline = Deadline::in(settings.times.head);
  const auto transport = settings.authority->answer(std::move(client), name, deadline);
  if (!transport) {
    guard.refused({"", "https", name, "", port}, transport.error().message);
    return;
  }
  const GateTerms terms{
      {"https", 443}, {name, port}, guard, settings, [&](UniqueFd socket, const std::string& host) {
        return settings.trust->reach(std::move(socket), host, Deadline::in(settings.times.head));
      }};
  serve_requests(**transport, terms);
}

}  // namespace nutshell::egress
