// Debian packages: where in the file the archive of its files lies.
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
// Of the member data.tar, however it is packed.
Result<ByteRange> find_package_data(int package);

// Adds the package's files to what the target holds. The caller ignores SIGPIPE.
Result<Unpacked> unpack_package(const Unpacking& order, const std::filesystem::path& package);

}  // namespace nutshell::images
