// The file by which Roche's clients find the daemon: its process and its port.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace nutshell::roche {

struct DaemonInfo {
  pid_t pid = 0;
  std::uint16_t port = 0;
};

// .roche/daemon.json in the user's home; an error without HOME.
Result<std::filesystem::path> discovery_file();
Result<DaemonInfo> read_discovery(const std::filesystem::path& path);
// Makes the directory, and replaces the file as a whole.
Result<> write_discovery(const std::filesystem::path& path, const DaemonInfo& info);
// Removes the file if it names this process.
void remove_discovery(const std::filesystem::path& path, pid_t own);

}  // namespace nutshell::roche
