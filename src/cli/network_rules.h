// Sums up what a sandbox tried on the network, and the rules that would allow it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/network_report.h"

namespace nutshell::cli {

// The attempts at one place.
struct NetworkAttempts {
  std::map<NetworkEventKind, std::uint64_t> counts;
  std::string reason;  // of the last refusal or failure
};

// "example.org:443", "example.org" for a look-up, "GET example.org:443/path" for a request.
std::string place_of(const NetworkEvent& event);
// By place. The ends of connections are left out.
std::map<std::string, NetworkAttempts> attempts_of(const std::vector<NetworkEvent>& events);
// "2 opened, 1 refused"
std::string counts_text(const NetworkAttempts& attempts);

// The narrowest rules for what was refused, or for what was reached; each once, in order.
std::vector<std::string> rules_for_refused(const std::vector<NetworkEvent>& events);
std::vector<std::string> rules_for_reached(const std::vector<NetworkEvent>& events);

// "--allow a.test:443 --allow '[2001:db8::1]:443'", for a shell. Rules may have the words of a
// sandbox.
std::string allow_flags(const std::vector<std::string>& rules);

}  // namespace nutshell::cli
