// Mounts by descriptor: what is checked is what is mounted, whatever a path says meanwhile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

enum class Subtree { One, Recursive };

// A detached copy of what is mounted at `path` (below `directory`, unless absolute).
Result<UniqueFd> clone_mount(int directory, const char* path, Subtree subtree);

// Attributes are MOUNT_ATTR_…
Result<> set_attributes(int mount, std::uint64_t attributes, Subtree subtree);
Result<UniqueFd> new_file_system(const char* type,
                                 std::initializer_list<std::pair<const char*, std::string>> options,
                                 std::uint64_t attributes);

// Attaches a detached mount at an open place. Links are not followed.
Result<> attach_mount(int mount, int directory, const char* name);

}  // namespace nutshell::native
