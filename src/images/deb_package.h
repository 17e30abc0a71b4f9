// Debian packages: finds and unpacks the archive of a package's files.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "images/unpack_process.h"

namespace nutshell::images {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
// Finds the member data.tar, however it is compressed.
Result<ByteRange> find_package_data(int package);

// Adds the package's files to the target directory. The caller ignores SIGPIPE.
Result<Unpacked> unpack_package(const Unpacking& order, const std::filesystem::path& package);

}  // namespace nutshell::images
