// The loop over the requests of one connection, and the connection to the server behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "egress/inspect/gate_request.h"
#include "egress/inspect/host_port.h"
#include "egress/inspect/inspect.h"
#include "http/transport.h"

namespace nutshell::egress {

struct GateTerms {
  GateScheme scheme;
  HostPort place;  // of the connection; an empty host stands for any
  FlowGuard& guard;
  const InspectSettings& settings;
  // Makes the transport to the server of that name; does the handshake if there is one.
  std::function<Result<std::unique_ptr<http::Transport>>(UniqueFd, const std::string& host)> reach;
};

// Serves requests until the connection ends. The handshake of `client` is done.
void serve_requests(http::Transport& client, const GateTerms& terms);

}  // namespace nutshell::egress
