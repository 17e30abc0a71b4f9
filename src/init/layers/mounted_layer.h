// Finds the layer on top of /workspace in the kernel's mount table. Init reads the table instead of
// remembering what it proposed: the mounting process may have been killed before the mount, during
// it, or after it and before its report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::init {

// The name of the layer that takes writes; empty if /workspace shows no layer at all.
Result<std::string> mounted_layer();

// The same for a text like /proc/self/mountinfo.
Result<std::string> mounted_layer_in(std::string_view mount_table);

// The sandbox's own layers of /workspace, lowest first, in such a text.
Result<std::vector<std::string>> mounted_layers_in(std::string_view mount_table);

}  // namespace nutshell::init
