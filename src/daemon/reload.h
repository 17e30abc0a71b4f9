// Compares the settings that the daemon runs with and those that it has read again.
#pragma once

#include <string>
#include <vector>

#include "daemon/config.h"

namespace nutshell::daemon {

struct ConfigChanges {
  std::vector<std::string> taken_over;    // "quota.sandboxes: 5, was 3", "token ci: added"
  std::vector<std::string> need_restart;  // "tcp.port: 7071, was 7070"
};

ConfigChanges compare(const Config& before, const Config& after);

}  // namespace nutshell::daemon
