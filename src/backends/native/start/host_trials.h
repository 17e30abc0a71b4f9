// Finds out what this host allows by trying each protection in a child process of its own.
#pragma once

#include "core/init_entry.h"
#include "core/protection.h"

namespace nutshell::native {

Protections try_on_this_host(const InitEntry& entry);

}  // namespace nutshell::native
