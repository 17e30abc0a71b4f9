// Opens paths inside the sandbox.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/schema.h"

namespace nutshell::init {

// Opens a regular file without ever waiting. Refuses FIFOs, devices and files of /proc: reading one
// may block, never end, or show init's own memory.
Result<UniqueFd> open_regular(const std::string& path, int flags);

// Returns the directory for a new entry, and the entry's name. If the last component is a link, it
// is followed.
Result<std::pair<UniqueFd, std::string>> open_parent(std::string path);

// Returns the target of a link; empty if it cannot be read. An empty name means the opened link.
std::string read_link(int directory, const std::string& name);

wire::FileInfo describe(const struct stat& status, std::string path);

}  // namespace nutshell::init
