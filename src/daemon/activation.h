// What a service manager and its children agreed on: sockets passed in, and news passed out.
#pragma once

#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace nutshell::daemon {

// LISTEN_FDS of systemd's protocol; none where they are for another process.
std::vector<UniqueFd> take_passed_sockets();
// To NOTIFY_SOCKET, where somebody listens.
void tell_starter(std::string_view news);

}  // namespace nutshell::daemon
