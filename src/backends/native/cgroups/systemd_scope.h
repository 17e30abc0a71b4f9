// Asks the user's systemd for a delegated scope and moves this process into it. A plain user on a
// systemd host has no cgroup of his own otherwise: his shells run in scopes that belong to root.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::native {

// The private socket of this user's service manager, in $XDG_RUNTIME_DIR or /run/user/UID.
std::filesystem::path user_systemd_socket();

// Returns the scope's name once this process, with all its threads, is in it. NotFound if nobody
// listens at `socket`: there is no user manager. Never waits beyond `deadline`.
Result<std::string> join_delegated_scope(const std::filesystem::path& socket,
                                         const Deadline& deadline);

// Whether the last name of a cgroup's path is that of a scope made by join_delegated_scope().
bool is_own_scope(std::string_view path);

}  // namespace nutshell::native
