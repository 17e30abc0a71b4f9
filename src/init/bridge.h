// Carries bytes between a pair of descriptors and a socket until both directions have ended.
#pragma once

#include "base/result.h"

namespace nutshell::init {

// Copies from `in` to `socket`, and from the socket to `out`.
Result<> bridge(int in, int out, int socket);

}  // namespace nutshell::init
