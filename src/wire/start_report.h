// One line of init in a container, before anything else on its first connection, when it is ordered
// to copy a directory first: the one order that can fail for a reason of the user's.
#pragma once

#include <chrono>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::wire {

// By init, once it is done.
Result<> report_copy(int stream, const Result<>& copied);

// Until it is done; what comes behind that line is left for whoever reads the stream.
inline constexpr std::chrono::seconds kCopyTime{120};
Result<> await_copy(int stream, const Deadline& deadline);

}  // namespace nutshell::wire
