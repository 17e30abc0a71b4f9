// Which layer is on top of /workspace, as the kernel's mount table has it. Init asks instead of
// remembering what it wanted: whoever was to mount the layer may have been killed before, in the
// middle, or after it and before saying so.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::init {

// The name of the layer that takes what is written. Empty: /workspace shows no layer at all.
Result<std::string> mounted_layer();

// The same for a text like /proc/self/mountinfo.
Result<std::string> mounted_layer_in(std::string_view mount_table);

}  // namespace nutshell::init
