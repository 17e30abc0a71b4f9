// Serves the HTTP/1.1 connections of a sandbox: every request is read, judged by the guard, written
// anew and sent to the host that it names. Blocking; the caller gives each connection a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "egress/cache/package_store.h"
#include "egress/inspect/authority.h"
#include "egress/inspect/flow_guard.h"
#include "egress/inspect/secret.h"
#include "egress/inspect/server_trust.h"

namespace nutshell::egress {

struct InspectTimes {
  std::chrono::milliseconds head = std::chrono::seconds(30);    // from the first byte to the last
  std::chrono::milliseconds idle = std::chrono::seconds(120);   // between two requests
  std::chrono::milliseconds client = std::chrono::seconds(60);  // without a byte of its body
  std::chrono::milliseconds server = std::chrono::minutes(15);  // without a byte of the answer
};

struct CacheSettings {
  const PackageStore* store = nullptr;  // nullptr: nothing is kept
  std::vector<std::string> registries;  // as check_registries() accepts them
};

// Shared by the connections of one sandbox. The objects live longer than the connections.
struct InspectSettings {
  InspectTimes times;
  Authority* authority = nullptr;      // for serve_tls
  const ServerTrust* trust = nullptr;  // for serve_tls
  std::vector<Secret> secrets;         // put in over TLS only
  CacheSettings cache;
};

// Both return when the connection has ended. `client` is a stream socket whose other end the
// sandbox has. `host` and `port` are the place that the connection was made to: requests that name
// another one are refused. If `host` is empty, requests may name any host, and the guard alone
// decides.
void serve_http(UniqueFd client, const std::string& host, std::uint16_t port, FlowGuard& guard,
                const InspectSettings& settings);

// Ends the sandbox's TLS, and reaches servers by TLS of its own. `name` is the server that the
// client asked for (SNI), or the address of the connection if it named none. No byte of `client`
// was read.
void serve_tls(UniqueFd client, const std::string& name, std::uint16_t port, FlowGuard& guard,
               const InspectSettings& settings);

}  // namespace nutshell::egress
