#include "base/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace nutshell {

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return syscall_failure("pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace nutshell
