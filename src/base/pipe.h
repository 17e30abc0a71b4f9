// A pipe; both ends are close-on-exec.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe();

}  // namespace nutshell
