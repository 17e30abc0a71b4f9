// Names what the commands of a sandbox may reach on the network. A sandbox has no interface but
// loopback; `egress` decides on the host about every name and connection, and carries those that
// are allowed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/field.h"

namespace nutshell {

enum class NetworkMode : std::uint8_t {
  None,        // loopback only
  Allowed,     // what the list `allow` names, and nothing else
  UnsafeFull,  // every address that the host reaches
};
template <>
inline constexpr std::array<std::string_view, 3> kWords<NetworkMode>{"none", "allowed",
                                                                     "unsafe-full"};

// Whether the host reads what a sandbox sends over TLS.
enum class TlsMode : std::uint8_t {
  Pass,     // it reads the server's name in the first message, and nothing else
  Inspect,  // it answers with certificates of an authority that the sandbox trusts, and reads all
};
template <>
inline constexpr std::array<std::string_view, 2> kWords<TlsMode>{"pass", "inspect"};

// A secret that commands use and never see. The variable holds a placeholder, which the host
// replaces in requests to the secret's hosts.
struct NetworkSecret {
  std::string name;
  std::string value;
  std::vector<std::string> hosts;
  bool is_in_query = false;
  bool is_in_body = false;

  static constexpr NounInfo kNoun{"NetworkSecret", "A secret that the sandbox uses without it."};
  static void describe(auto&& field, auto& secret) {
    field({.number = 1,
           .name = "name",
           .help = "the variable that holds a placeholder in the sandbox",
           .most = kMostNameBytes,
           .presence = Presence::Required},
          secret.name);
    field({.number = 2,
           .name = "value",
           .help = "what the placeholder stands for",
           .most = 64 * kKiB,
           .is_secret = true},
          secret.value);
    field({.number = 3,
           .name = "hosts",
           .help = "the hosts whose requests get it; rules like those of `allow`",
           .most = 64},
          secret.hosts);
    field({.number = 4,
           .name = "is_in_query",
           .help = "replace it in the query of a URL too, not only in headers"},
          secret.is_in_query);
    field({.number = 5, .name = "is_in_body", .help = "replace it in the body of a request too"},
          secret.is_in_body);
  }

  bool operator==(const NetworkSecret&) const = default;
};

struct NetworkPolicy {
  NetworkMode mode = NetworkMode::None;
  std::vector<std::string> allow;
  TlsMode tls = TlsMode::Pass;
  std::vector<NetworkSecret> secrets;
  std::vector<std::string> caches;
  std::uint32_t most_connections = 1024;
  std::uint64_t most_bytes = 64ULL << 30U;
  std::uint64_t bytes_per_second = 16ULL << 30U;

  static constexpr std::int64_t kMostRules = 256;
  static constexpr NounInfo kNoun{"NetworkPolicy", "What a sandbox may reach on the network."};
  static void describe(auto&& field, auto& policy) {
    field({.number = 1,
           .name = "mode",
           .help = "none: nothing; allowed: what `allow` names; unsafe-full: all that this machine "
                   "reaches",
           .flag = "network"},
          policy.mode);
    field({.number = 2,
           .name = "allow",
           .help = "HOST[:PORT], *.HOST, an address, a range such as 10.1.0.0/16, or a preset "
                   "such as pypi; for HTTP also METHOD http://HOST/PATH*. Given rules mean the "
                   "mode 'allowed'",
           .most = kMostRules,
           .example = "pypi.org:443",
           .flag = "allow"},
          policy.allow);
    field({.number = 3,
           .name = "tls",
           .help = "pass: TLS is left alone but for the server's name; inspect: the host reads it, "
                   "for rules on methods and paths and for secrets"},
          policy.tls);
    field({.number = 4,
           .name = "secrets",
           .help = "secrets that requests get on the host, so that the sandbox never has them",
           .most = 64},
          policy.secrets);
    field({.number = 5,
           .name = "caches",
           .help = "package registries whose downloads are kept for the next time: pypi, npm, "
                   "crates, go or debian",
           .most = 16,
           .flag = "cache"},
          policy.caches);
    field({.number = 6,
           .name = "most_connections",
           .help = "open connections at once",
           .least = 1,
           .most = 65'536,
           .example = "1024",
           .flag = "network-connections"},
          policy.most_connections);
    field({.number = 7,
           .name = "most_bytes",
           .help = "bytes in both directions, over the life of the sandbox",
           .format = Format::Bytes,
           .least = 1,
           .most = kPiB,
           .example = "10g",
           .flag = "network-bytes"},
          policy.most_bytes);
    field({.number = 8,
           .name = "bytes_per_second",
           .help = "bytes in both directions in a second",
           .format = Format::Bytes,
           .least = 1024,
           .most = kPiB,
           .example = "10m",
           .flag = "network-rate"},
          policy.bytes_per_second);
  }

  bool operator==(const NetworkPolicy&) const = default;
};

// Rules without a mode mean that what they name is allowed.
inline NetworkMode mode_of(const NetworkPolicy& policy) {
  if (policy.mode == NetworkMode::None && !policy.allow.empty()) return NetworkMode::Allowed;
  return policy.mode;
}

}  // namespace nutshell
