// The parts of a sandbox that are the same in every container, whichever program makes it: paths,
// users, reserves for our own processes, sizes of its file systems.
#pragma once

#include <cstdint>

#include "core/limits.h"

namespace nutshell::containers {

inline constexpr const char* kWorkspace = "/workspace";
inline constexpr const char* kInitDirectory = "/.nutshell/bin";
inline constexpr const char* kInitProgram = "/.nutshell/bin/nutshell-init";
inline constexpr const char* kStoreDirectory = "/.nutshell/store";
inline constexpr const char* kSocketName = "@nutshell-init";

// Commands run as the first user. Processes that carry a connection to init run as the second, so
// that a command cannot kill the connection it is watched through.
inline constexpr unsigned kSandboxUserId = 1000;
inline constexpr const char* kSandboxUser = "1000:1000";
inline constexpr const char* kBridgeUser = "1001:1001";

// Init, and its thread that carries the first connection. The process of a later connection counts
// as one of the sandbox's own.
inline constexpr std::uint32_t kOurProcesses = 2;
// The runtime needs this many open files to make a container; init lowers the limit afterwards.
inline constexpr std::uint64_t kLeastOpenFiles = 256;
// RLIMIT_FSIZE is this much above the disk limit: a command that fills the disk gets ENOSPC, not
// SIGXFSZ.
inline constexpr std::uint64_t kBeyondDisk = 1U << 20U;

// Memory and threads that gVisor's own kernel needs in addition to the sandbox's limits. Each
// process in gVisor takes up to two threads of the host.
inline constexpr std::uint64_t kGvisorMemory = 128ULL << 20U;
inline constexpr std::uint32_t kGvisorThreads = 512;
constexpr std::uint32_t gvisor_threads_for(std::uint32_t processes) {
  return 2 * processes + kGvisorThreads;
}

// The sizes of the writable file systems; together they are `disk_bytes`.
struct ScratchSizes {
  std::uint64_t workspace = 0;
  std::uint64_t temporary = 0;  // /tmp
  std::uint64_t shared = 0;     // /dev/shm; never zero, which engines take for their default
};
ScratchSizes scratch_sizes(std::uint64_t disk_bytes, std::uint64_t memory_bytes);

}  // namespace nutshell::containers
