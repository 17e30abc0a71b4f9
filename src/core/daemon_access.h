// How to reach a daemon: its address and credentials.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// Name of the socket of a user's own daemon, in the user's directory.
inline constexpr const char* kDaemonSocket = "nutshelld.sock";

struct DaemonAccess {
  std::filesystem::path socket = {};  // Unix; empty: url
  std::string url = {};               // "https://host:7070"
  std::string token = {};             // empty: none; the socket's owner needs none
  // The daemon keeps its files about sandboxes in the same user directory as this program.
  bool shares_directory = false;
  // PEM files for https.
  std::filesystem::path authority = {};    // to trust; empty: the system's authorities
  std::filesystem::path certificate = {};  // to show; empty: none
  std::filesystem::path key = {};          // of that certificate
};

// "/run/x.sock", "./x.sock", "unix:x.sock", "http://127.0.0.1:7070", "https://host:7070".
Result<DaemonAccess> parse_daemon_address(std::string_view text);

// The address, for messages.
std::string to_string(const DaemonAccess& access);

}  // namespace nutshell
