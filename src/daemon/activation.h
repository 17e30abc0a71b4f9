// The protocol of systemd: sockets that it passes to the daemon, and news for it.
#pragma once

#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace nutshell::daemon {

// Takes the sockets of LISTEN_FDS; none if they are for another process.
std::vector<UniqueFd> take_passed_sockets();
// Sends `news` to NOTIFY_SOCKET, if that is set.
void tell_starter(std::string_view news);

}  // namespace nutshell::daemon
