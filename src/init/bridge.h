// Carries bytes between a pair of descriptors and a socket until both directions have ended.
#pragma once

#include "base/result.h"

namespace nutshell::init {

// What arrives on `in` goes to `socket`, what the socket sends goes to `out`.
Result<> bridge(int in, int out, int socket);

}  // namespace nutshell::init
