// The sandbox's /dev: a handful of harmless devices and the usual links.
#pragma once

#include "backends/native/privilege.h"
#include "base/result.h"

namespace nutshell::native {

Result<> mount_devices(int root, Privilege privilege);

}  // namespace nutshell::native
