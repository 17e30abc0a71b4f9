// The messages between init in a container and its maker at the start of the first connection: init
// reports that it copied the workspace, which may fail for a reason of the user, and the maker
// reports that it has finished.
#pragma once

#include <chrono>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::wire {

// Sent by init once it has copied the workspace, or failed to.
Result<> report_copy(int stream, const Result<>& copied);

// Waits for init's report; reads no byte behind it.
inline constexpr std::chrono::seconds kCopyTime{120};
Result<> await_copy(int stream, const Deadline& deadline);

// The host releases a sandbox that outlives its maker, once everything that is kept of it is
// written down. Until then init ends with the connection, so that a maker that is killed leaves no
// sandbox of unknown id. Returns when init has received it: the maker may then hang up.
Result<> release(int stream, const Deadline& deadline);
Result<> await_release(int input, int output, const Deadline& deadline);

}  // namespace nutshell::wire
