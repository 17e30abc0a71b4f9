// Unpacks an untrusted archive into the working directory, and nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace nutshell {

struct UnpackLimits {
  std::uint64_t bytes = 16ULL << 30U;  // of all files together, as the archive declares them
  std::uint64_t entries = 2'000'000;
  std::uint64_t depth = 200;  // of directories in directories
  std::uint64_t ratio = 250;  // most bytes for one packed byte, beyond the first 64 MiB
  std::uint64_t least_entries = 1;
};

struct UnpackReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;  // devices, FIFOs and sockets: never made
  std::string packed;         // SHA-256 in hex of what was read
  std::string unpacked;       // and of the tar archive in it
};

// Called repeatedly with the bytes read from the archive so far.
using UnpackProgress = std::function<void(std::uint64_t bytes_read)>;

// Unpacks a tar archive, plain or packed with gzip, bzip2, xz, zstd or lz4. Drops owners, set-id
// bits, attributes and capabilities; the caller can empty every directory. Absolute names are taken
// relative; names with "..", names through a link and hard links to anything outside the directory
// are errors. Files that were unpacked before an error stay.
Result<UnpackReport> unpack_archive(int input, const UnpackLimits& limits,
                                    const UnpackProgress& progress);

}  // namespace nutshell
