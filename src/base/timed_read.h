// Reads with a bound on time, for what other programs send.
#pragma once

#include <cstddef>
#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell {

// Reads to the end. Fails with DeadlineExceeded, or with Corrupt beyond `limit` bytes.
Result<std::string> read_to_end(int fd, std::size_t limit, const Deadline& deadline);

}  // namespace nutshell
