// The address of a daemon, and the token to show it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// The socket of a user's own daemon, in the user's runtime directory.
inline constexpr const char* kDaemonSocket = "nutshelld.sock";

struct DaemonAccess {
  std::filesystem::path socket;  // path of a Unix socket; if empty, `url` is used
  std::string url;               // "https://host:7070"
  std::string token;             // empty if there is none; the socket's owner needs none
  // Whether the daemon keeps its files about sandboxes in our user's runtime directory.
  bool shares_directory = false;
};

// Parses "/run/x.sock", "./x.sock", "unix:x.sock", "http://127.0.0.1:7070" or "https://host:7070".
Result<DaemonAccess> parse_daemon_address(std::string_view text);

// The address for messages.
std::string to_string(const DaemonAccess& access);

}  // namespace nutshell
