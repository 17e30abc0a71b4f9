// Carries connections to ports of this machine to servers inside a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "runtime/runtime.h"

namespace nutshell::cli {

struct ForwardedPort {
  std::uint16_t inside = 0;
  std::uint16_t local = 0;  // zero: any free one, until listen() chose it
  UniqueFd listener = {};
};

// Parses PORT or PORT:LOCAL.
Result<ForwardedPort> parse_forwarded_port(const std::string& text);

// Listens at 127.0.0.1. AlreadyExists if another program does.
Result<> listen(ForwardedPort& port);

// Carries connections until a signal asks for the end, or the sandbox ends; a line on standard
// error says so.
Result<> forward_ports(Runtime& runtime, const std::string& id,
                       const std::vector<ForwardedPort>& ports);

}  // namespace nutshell::cli
