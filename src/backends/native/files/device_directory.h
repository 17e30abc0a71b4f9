// The sandbox's /dev: a handful of harmless devices and the usual links.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

// An empty directory becomes what /dev is to be. Only root may make devices.
Result<> fill_device_directory(int directory);

// On root's directory dev: one made in memory, or itself, where it was filled before.
Result<> mount_devices(int root, Privilege privilege);
Result<> bind_devices(int root);

}  // namespace nutshell::native
