// The daemon as Roche's command knows it: with a port, and a file that tells its clients the port.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace nutshell::cli {

inline constexpr std::uint64_t kRochePort = 50051;

Result<int> start_roche_daemon(std::uint64_t port);
// Becomes the daemon.
Result<int> run_roche_daemon(std::uint64_t port);
Result<int> stop_roche_daemon();
Result<int> show_roche_daemon();

}  // namespace nutshell::cli
