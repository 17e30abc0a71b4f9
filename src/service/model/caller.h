// On whose behalf something is done. The way in fills it from what it has proved about the client.
#pragma once

#include <cstdint>
#include <string>

namespace nutshell::service {

// May the caller name files of this machine (workspaces, mounts, image directories)? Only somebody
// who could read and write them anyway: a client on the daemon's own socket.
enum class HostFiles : std::uint8_t { Denied, Allowed };

struct Caller {
  std::string tenant;  // sees its own sandboxes, sessions and records only
  std::string who;     // for the record: "uid 1000 pid 4711", "token ci", "cert CN=…"
  HostFiles host_files = HostFiles::Denied;
};

}  // namespace nutshell::service
