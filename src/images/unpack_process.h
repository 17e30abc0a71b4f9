// Unpacks archives in a separate process that can write only to its target: an archive is hostile,
// and so may be the process that has read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace nutshell::images {

// Limits of an image.
struct ImageLimits {
  std::uint64_t bytes = 16ULL << 30U;
  std::uint64_t entries = 2'000'000;
  std::uint64_t depth = 200;
  std::uint64_t ratio = 250;
};

struct Unpacking {
  std::filesystem::path program;
  std::filesystem::path target;  // a directory that exists
  ImageLimits limits;
  std::uint64_t least_entries = 1;
  int lock = -1;  // inherited by the process, so that its target stays locked while it lives
};

struct Unpacked {
  std::string packed_digest;    // of the bytes that were read
  std::string unpacked_digest;  // of the tar archive in them
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::uint64_t skipped = 0;  // devices, FIFOs and sockets, which are never made
};

Result<Unpacked> unpack_file(const Unpacking& order, int input);

// Writes an archive to a descriptor. The caller ignores SIGPIPE: the unpacker may leave early.
using ArchiveWriter = std::function<Result<>(int output)>;
Result<Unpacked> unpack_stream(const Unpacking& order, const ArchiveWriter& write);

// Parses the report that the process prints at its end.
Result<Unpacked> read_report(std::string_view text);

}  // namespace nutshell::images
