// A network namespace with nothing in it but a loopback interface that is up.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class NetworkNamespace {
 public:
  // Made on the side: the calling process is back in `home`, its own, when this returns.
  static Result<NetworkNamespace> create(const UniqueFd& home);

  [[nodiscard]] int descriptor() const { return namespace_.get(); }

  // Nothing of the last sandbox is left in it: no socket, also none waiting to time out.
  [[nodiscard]] Result<bool> is_clean(const UniqueFd& home) const;

 private:
  explicit NetworkNamespace(UniqueFd made) : namespace_(std::move(made)) {}

  UniqueFd namespace_;
};

Result<UniqueFd> open_own_network_namespace();

// Makes one in a short-lived child, which sends its descriptor (or what went wrong) through
// `target`: the slowest piece of a sandbox, made while the sandbox itself mounts its files. The
// caller's own network stays as it is, also where it could not come back.
Result<> send_new_network_namespace(int target);

// For a process that is in its network namespace for good.
Result<> bring_loopback_up();

}  // namespace nutshell::native
