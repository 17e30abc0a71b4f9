// Opens untrusted paths without ever leaving a directory: with openat2, or with walk_beneath()
// where the kernel lacks it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

enum class Links {
  Refuse,   // any symbolic link on the way is an error
  Confine,  // links are followed, but never out of the directory
  Follow,   // links are followed wherever they lead, but not those that name open descriptors
};

Result<UniqueFd> open_beneath(int directory, const std::string& path, int flags, unsigned mode,
                              Links links);

// A single name: not empty, not "." or "..", no slash, no NUL.
bool is_plain_name(std::string_view name);

}  // namespace nutshell
