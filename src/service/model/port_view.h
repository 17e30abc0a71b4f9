// Ports of sandboxes that are open to clients of the daemon, as a caller of the service sees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nutshell::service {

struct PortView {
  std::string sandbox;
  std::uint16_t port = 0;
  std::string token;  // whoever has it may talk to the port
  std::chrono::system_clock::time_point opened;
  std::uint64_t requests = 0;
};

}  // namespace nutshell::service
