// Reports what a sandbox did on the network: each connection or look-up that its commands tried,
// and sums of them.
#pragma once

#include <cstdint>
#include <string>

#include "core/field.h"
#include "core/network_policy.h"

namespace nutshell {

enum class NetworkEventKind : std::uint8_t {
  Opened,
  Refused,  // by the policy
  Failed,   // allowed, but the server or the host's resolver did not answer
  Closed,
};
template <>
inline constexpr std::array<std::string_view, 4> kWords<NetworkEventKind>{"opened", "refused",
                                                                          "failed", "closed"};

struct NetworkEvent {
  std::uint64_t number = 0;
  std::int64_t time_us = 0;
  NetworkEventKind kind = NetworkEventKind::Opened;
  std::string host;
  std::string address;
  std::uint16_t port = 0;
  std::string method;
  std::string path;
  std::string reason;
  std::string rule;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t count = 1;

  static constexpr NounInfo kNoun{"NetworkEvent", "A connection or look-up that a command tried.",
                                  Direction::Given};
  static void describe(auto&& field, auto& event) {
    field({.number = 1,
           .name = "number",
           .help = "counted from 1 for each sandbox",
           .presence = Presence::Required},
          event.number);
    field({.number = 2, .name = "time_us", .help = "in microseconds since 1970"}, event.time_us);
    field({.number = 3,
           .name = "kind",
           .help = "opened and closed: a connection; refused: by the policy; failed: allowed, but "
                   "nobody answered"},
          event.kind);
    field({.number = 4, .name = "host", .help = "the name, or the address if there was no name"},
          event.host);
    field({.number = 5,
           .name = "address",
           .help = "where that name led",
           .presence = Presence::IfSet},
          event.address);
    field({.number = 6,
           .name = "port",
           .help = "left out of look-ups of names",
           .presence = Presence::IfSet},
          event.port);
    field({.number = 7,
           .name = "method",
           .help = "of an HTTP request that the host read",
           .presence = Presence::IfSet},
          event.method);
    field({.number = 8,
           .name = "path",
           .help = "of an HTTP request that the host read",
           .presence = Presence::IfSet},
          event.path);
    field({.number = 9,
           .name = "reason",
           .help = "why it was refused or failed",
           .presence = Presence::IfSet},
          event.reason);
    field({.number = 10,
           .name = "rule",
           .help = "the rule that allowed it; of a refusal: the narrowest rule that would allow it",
           .presence = Presence::IfSet},
          event.rule);
    field({.number = 11,
           .name = "sent_bytes",
           .help = "bytes from the sandbox, when it closed",
           .format = Format::Bytes,
           .presence = Presence::IfSet},
          event.sent_bytes);
    field({.number = 12,
           .name = "received_bytes",
           .help = "bytes to the sandbox, when it closed",
           .format = Format::Bytes,
           .presence = Presence::IfSet},
          event.received_bytes);
    field({.number = 13, .name = "count", .help = "how often it was tried in a row"}, event.count);
  }

  bool operator==(const NetworkEvent&) const = default;
};

struct NetworkStatus {
  NetworkPolicy policy;
  std::string way;
  std::uint64_t open_connections = 0;
  std::uint64_t connections = 0;
  std::uint64_t refused = 0;
  std::uint64_t bytes = 0;

  static constexpr NounInfo kNoun{"NetworkStatus", "The network of a sandbox, and its use.",
                                  Direction::Given};
  static void describe(auto&& field, auto& status) {
    field({.number = 1, .name = "policy", .help = "what it may reach"}, status.policy);
    field({.number = 2,
           .name = "way",
           .help = "notification: the kernel tells of connections, so commands need no settings; "
                   "proxy: commands find a proxy in the usual variables; none: no network",
           .most = kMostNameBytes},
          status.way);
    field({.number = 3, .name = "open_connections", .help = "open now"}, status.open_connections);
    field({.number = 4, .name = "connections", .help = "opened since the sandbox began"},
          status.connections);
    field({.number = 5, .name = "refused", .help = "connections and look-ups that were refused"},
          status.refused);
    field({.number = 6,
           .name = "bytes",
           .help = "in both directions since the sandbox began",
           .format = Format::Bytes},
          status.bytes);
  }
};

}  // namespace nutshell
