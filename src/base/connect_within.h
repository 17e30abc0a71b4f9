// Connects to a Unix socket in a bounded time.
#pragma once

#include <chrono>
#include <filesystem>

#include "base/result.h"
#include "base/socket.h"
#include "base/unique_fd.h"

namespace nutshell {

// Unavailable if the listener's queue is full for this long.
Result<UniqueFd> connect_within(std::chrono::milliseconds patience,
                                const std::filesystem::path& path, SocketKind kind);

}  // namespace nutshell
