// Mounts by descriptor, so that a path that changes between a check and a mount does no harm.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

enum class Subtree { One, Recursive };

// Returns a detached copy of what is mounted at `path`, which is relative to `directory`.
Result<UniqueFd> clone_mount(int directory, const char* path, Subtree subtree);

// `attributes` are MOUNT_ATTR_… flags.
Result<> set_attributes(int mount, std::uint64_t attributes, Subtree subtree);
Result<UniqueFd> new_file_system(const char* type,
                                 std::initializer_list<std::pair<const char*, std::string>> options,
                                 std::uint64_t attributes);

// Attaches a detached mount at `name` below `directory`, or at `directory` itself if `name` is
// empty. Follows no symbolic links.
Result<> attach_mount(int mount, int directory, const char* name);

// Decodes a path of /proc/PID/mountinfo, in which the kernel writes blanks and backslashes as \ooo.
std::string unescape_mount_path(std::string_view text);

}  // namespace nutshell::native
