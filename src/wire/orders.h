// What a sandbox that was made ahead is told when somebody takes it: one packet on init's control
// socket, with the first connection beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nutshell::wire {

struct Orders {
  std::uint64_t ttl_ms = 0;
  std::uint64_t idle_ms = 0;
  std::vector<std::string> environment;
  std::string working_directory;
  void fields(auto& visit) { visit(ttl_ms, idle_ms, environment, working_directory); }
};

}  // namespace nutshell::wire
