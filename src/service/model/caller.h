// The caller of an operation. The server fills it from what the client has proved.
#pragma once

#include <cstdint>
#include <string>

namespace nutshell::service {

// Whether the caller may name files of this machine (workspaces, mounts, image directories). Only a
// client on the daemon's own socket may, because it could read and write them anyway.
enum class HostFiles : std::uint8_t { Denied, Allowed };

struct Caller {
  std::string tenant;  // sees its own sandboxes, sessions and records only
  std::string who;     // for the record: "uid 1000 pid 4711", "token ci", "cert CN=…"
  HostFiles host_files = HostFiles::Denied;
};

}  // namespace nutshell::service
