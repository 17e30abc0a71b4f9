// Messages of the launcher about requests that fail and sandboxes that end.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "backends/native/launcher/kept_sandbox.h"
#include "backends/native/launcher/launcher_protocol.h"
#include "base/result.h"

namespace nutshell::native {

// How long a request may take.
inline constexpr std::chrono::seconds kStartTime{20};
inline constexpr std::chrono::seconds kEndTime{20};
// The longest ttl that is counted.
inline constexpr std::uint64_t kMostLeftMs = 1ULL << 40U;
// The most requests that wait for one sandbox: its clients must not take the places of all clients.
inline constexpr std::size_t kMostWaiting = 64;

Failure deadline_failure(const LauncherRequest& request);
Failure too_many_waiting(const std::string& id);
// Why a sandbox has ended that the launcher did not end.
std::string why_ended(const KeptSandbox& kept, bool is_out_of_memory);

}  // namespace nutshell::native
