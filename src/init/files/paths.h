// Opening paths inside the sandbox.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/schema.h"

namespace nutshell::init {

// A regular file, at once, whatever lies there: no FIFO, device or /proc file is opened, because
// reading one may block, never end, or show init's own memory.
Result<UniqueFd> open_regular(const std::string& path, int flags);

// The directory a new entry goes to, and the entry's name. A last component that is a link is
// followed to the place it names.
Result<std::pair<UniqueFd, std::string>> open_parent(std::string path);

// Where a link leads; empty if it cannot be read. An empty name is the link that was opened itself.
std::string read_link(int directory, const std::string& name);

wire::FileInfo describe(const struct stat& status, std::string path);

}  // namespace nutshell::init
