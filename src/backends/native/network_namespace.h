// A network namespace with nothing in it but a loopback interface that is up.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class NetworkNamespace {
 public:
  // Made on the side: the calling process is back in its own when this returns.
  static Result<NetworkNamespace> create();

  [[nodiscard]] int descriptor() const { return namespace_.get(); }

  // Nothing of the last sandbox is left in it: no socket, also none waiting to time out.
  [[nodiscard]] Result<bool> is_clean() const;

 private:
  NetworkNamespace(UniqueFd own, UniqueFd made) : own_(std::move(own)), namespace_(std::move(made)) {}

  UniqueFd own_;  // of this process, to come back to
  UniqueFd namespace_;
};

// For a process that is in its network namespace for good.
Result<> bring_loopback_up();

}  // namespace nutshell::native
