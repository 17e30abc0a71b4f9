// The system-call filter of a native sandbox, for an init that nobody has put it on: as the first
// process of somebody else's container, it does so itself, before anything else runs there.
#pragma once

#include <linux/filter.h>

#include <span>

namespace nutshell {

std::span<const sock_filter> sandbox_filter();

}  // namespace nutshell
