// Describes what a process passes on to the sandboxes that it starts: its cgroup, limits, priority,
// view of the files and rights. A launcher starts a command in place of its caller only if the
// caller's are the same as the launcher's own were at its start, so that `taskset`, `nice`,
// `ulimit` or a cgroup around a `run` always hold.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace nutshell::native {

// Describes the calling process. Equal texts are equal circumstances.
Result<std::string> own_circumstances();

// The device, number and time of change of a program's file, so that a launcher that was replaced
// on disk starts nothing for a newer client.
Result<std::string> identity_of(const std::filesystem::path& program);

}  // namespace nutshell::native
