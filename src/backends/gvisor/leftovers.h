// Removes what runsc leaves of a sandbox when it cannot clean up itself: processes, cgroups, files.
// Finds them by our own names alone.
#pragma once

#include <filesystem>
#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::gvisor {

// Kills all processes that have `argument` on their command line, until none is left.
Result<> end_processes(const std::string& argument, const Deadline& deadline);
Result<> remove_cgroups(const std::string& id, const Deadline& deadline);
void remove_state_files(const std::filesystem::path& directory, const std::string& id);

}  // namespace nutshell::gvisor
