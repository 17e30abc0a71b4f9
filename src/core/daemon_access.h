// Where a daemon listens and what it wants to be shown.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// Of a user's own daemon, in the user's directory.
inline constexpr const char* kDaemonSocket = "nutshelld.sock";

struct DaemonAccess {
  std::filesystem::path socket;  // Unix; empty: url
  std::string url;               // "https://host:7070"
  std::string token;             // empty: none; the socket's owner needs none
  // Its files about sandboxes are in the same directory of the user as ours.
  bool shares_directory = false;
};

// "/run/x.sock", "./x.sock", "unix:x.sock", "http://127.0.0.1:7070", "https://host:7070".
Result<DaemonAccess> parse_daemon_address(std::string_view text);

// The name of the place, for messages.
std::string to_string(const DaemonAccess& access);

}  // namespace nutshell
