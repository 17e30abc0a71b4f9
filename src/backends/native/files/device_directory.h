// The sandbox's /dev: six harmless devices and the usual links.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

// Makes the devices and links in an empty directory. Needs root.
Result<> fill_device_directory(int directory);

// Mounts a new file system in memory with the devices on `dev` below `root`.
Result<> mount_devices(int root, Privilege privilege);
// Makes `dev` below `root`, which fill_device_directory() has filled, a mount of its own.
Result<> bind_devices(int root);

}  // namespace nutshell::native
