// The hash of nutshell-init, kept in the user's runtime directory because computing it takes longer
// than asking an engine for a container. A file with the same identity, size and times is taken to
// have the same bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace nutshell::docker {

// SHA-256 in hexadecimal digits. Fails for a file longer than `most_bytes`.
Result<std::string> hash_of_file(const std::filesystem::path& file, std::size_t most_bytes);

}  // namespace nutshell::docker
