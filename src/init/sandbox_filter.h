// The system-call filter of a native sandbox, for init as the first process of a container that an
// engine made: init installs it itself, before anything else runs there.
#pragma once

#include <linux/filter.h>

#include <span>

namespace nutshell {

std::span<const sock_filter> sandbox_filter();

}  // namespace nutshell
