// What init in a container and its maker tell each other on the first connection before anything
// else: that a directory is copied, the one order that can fail for a reason of the user's, and
// that the maker has finished.
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

// The host releases a sandbox that outlives its maker, once everything that is kept of it is
// written down. Until then init ends with the connection, so that a maker that is killed leaves no
// sandbox whose id nobody knows. Returns when init has heard it: the maker may then hang up.
Result<> release(int stream, const Deadline& deadline);
Result<> await_release(int input, int output, const Deadline& deadline);

}  // namespace nutshell::wire
