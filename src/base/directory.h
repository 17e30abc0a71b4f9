// Makes directories.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// Makes the directory unless something of that name exists.
Result<> make_directory(const std::filesystem::path& path, unsigned mode = 0700);

// Makes the directory with mode 0700 unless it exists. Fails with PermissionDenied if it is no
// directory, belongs to another user or lets others in; `hint` ends that message.
Result<> make_private_directory(const std::filesystem::path& path, std::string_view hint = {});

}  // namespace nutshell
