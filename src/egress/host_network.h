// The real network: DNS and /etc/hosts by c-ares, connections by the kernel.
#pragma once

#include <filesystem>
#include <memory>

#include "egress/event_loop.h"
#include "egress/outside.h"

namespace nutshell::egress {

// `loop` must live longer.
Result<std::unique_ptr<Outside>> make_host_network(EventLoop& loop);

}  // namespace nutshell::egress
