// Unpacks an archive that a stranger made into the working directory, and nowhere else.
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
  std::uint64_t ratio = 250;  // how many bytes one packed byte may become, beyond the first 64 MiB
  std::uint64_t least_entries = 1;
};

struct UnpackReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;  // devices, FIFOs and sockets: never made
  std::string packed;         // SHA-256 in hex of what was read
  std::string unpacked;       // and of the tar archive in it
};

// Called again and again with the bytes taken from the archive so far.
using UnpackProgress = std::function<void(std::uint64_t bytes_read)>;

// A tar archive, plain or packed with gzip, bzip2, xz, zstd or lz4. Owners, set-id bits, attributes
// and capabilities are dropped; every directory can be emptied by whoever unpacked it. Absolute
// names are taken relative; names with "..", names through a link and hard links to anything that
// is not below the directory are errors. What was unpacked before an error stays.
Result<UnpackReport> unpack_archive(int input, const UnpackLimits& limits,
                                    const UnpackProgress& progress);

}  // namespace nutshell
