// Connects to the init of a container on this machine without its engine: from inside the
// container's network namespace, where init listens. This needs no process in the container, and no
// other process carries the bytes.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::docker {

// A process, held open so that a later process with its number is not mistaken for it.
class ContainerProcess {
 public:
  static Result<ContainerProcess> open(pid_t number);
  // Connects to the abstract socket `name`. PermissionDenied if another process listens there, or
  // if the caller may not enter the network namespace.
  [[nodiscard]] Result<UniqueFd> connect(const char* name) const;

 private:
  ContainerProcess(pid_t number, UniqueFd directory)
      : number_(number), directory_(std::move(directory)) {}

  pid_t number_;
  UniqueFd directory_;  // its directory in /proc
};

}  // namespace nutshell::docker
