// The address of a daemon, and the token that it asks for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// The name of the socket of a user's own daemon, in the user's directory.
inline constexpr const char* kDaemonSocket = "nutshelld.sock";

struct DaemonAccess {
  std::filesystem::path socket;  // a Unix socket; empty: the daemon is at `url`
  std::string url;               // "https://host:7070"
  std::string token;             // empty: none, as for the owner of the socket
  // The daemon keeps its records of sandboxes in the same user directory as this process.
  bool shares_directory = false;
};

// "/run/x.sock", "./x.sock", "unix:x.sock", "http://127.0.0.1:7070", "https://host:7070".
Result<DaemonAccess> parse_daemon_address(std::string_view text);

// The address as messages show it.
std::string to_string(const DaemonAccess& access);

}  // namespace nutshell
