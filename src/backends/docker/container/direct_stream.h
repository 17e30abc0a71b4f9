// A connection to the init of a container on this machine without its engine: from inside the
// container's network namespace, where init listens. It costs no process in the container, and what
// it carries passes through nobody else.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::docker {

// A process that stays the same one, whatever its number means later.
class ContainerProcess {
 public:
  static Result<ContainerProcess> open(pid_t number);
  // To `name`, an abstract one; refused unless this very process listens there. Only for who may
  // enter its namespace: else PermissionDenied.
  [[nodiscard]] Result<UniqueFd> connect(const char* name) const;

 private:
  ContainerProcess(pid_t number, UniqueFd directory)
      : number_(number), directory_(std::move(directory)) {}

  pid_t number_;
  UniqueFd directory_;  // of /proc
};

}  // namespace nutshell::docker
