// The hash of a file that seldom changes, kept beside the user's sandboxes: one that has the same
// identity, size and times has the same bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace nutshell::docker {

// SHA-256 in hexadecimal digits. Fails where the file is longer than `most_bytes`.
Result<std::string> hash_of_file(const std::filesystem::path& file, std::size_t most_bytes);

}  // namespace nutshell::docker
