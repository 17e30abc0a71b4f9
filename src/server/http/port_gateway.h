// Passes requests for the URL of an open port on to the server inside a sandbox: HTTP and
// WebSocket. The URL has a token, which is all that a client needs to show.
//
// The server inside is hostile, and its pages come from the origin of the daemon. So browsers give
// its pages an origin of their own that has no storage, cookies and credentials pass in neither
// direction, and no page learns the URL it was loaded from by a referrer.
#pragma once

#include <string>
#include <string_view>

#include "http/admission.h"
#include "http/message.h"
#include "server/http/route.h"
#include "service/sandboxes/ports.h"

namespace nutshell::server {

// "/v1/sandboxes/ID/ports/8080/TOKEN/"
std::string path_of(const service::PortView& view);

// A request for the URL of a port, as its path says; the token may be wrong.
struct PortRequest {
  service::Ports::Ticket ticket;
  std::string_view prefix;  // of the path as sent, up to the token
  std::string target;       // for the server inside; empty if nothing follows the token
};
// nullopt for paths of another form. The result refers to `target`.
std::optional<PortRequest> port_request_of(const http::Target& target);

// The tenant's admission for a request with a valid token, so that it is counted as the tenant's;
// nullopt for all others.
std::optional<http::Admission> admission_of_port(service::Service& service,
                                                 const http::RequestHead& head);

// A header of the server inside that leads to itself leads to the URL of its port.
std::string location_outside(std::string_view location, std::uint16_t port,
                             std::string_view prefix);

std::vector<Route> port_routes();
Result<> pass_to_port(Call& call);

}  // namespace nutshell::server
