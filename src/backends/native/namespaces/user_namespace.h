// A user namespace that maps only the sandbox's user and group. It keeps no state of its processes,
// so it can be used again once the last one has ended.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "backends/native/processes/kept_descriptors.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// Makes such a namespace and enters it, as the user it is for. Needs the host's root; the process
// cannot return.
Result<> enter_user_namespace_of(const HostIds& ids);

class UserNamespace {
 public:
  // Needs the host's root; the caller stays in its own user namespace.
  static Result<UserNamespace> create(const HostIds& ids);

  [[nodiscard]] int descriptor() const { return namespace_.get(); }
  Result<> renumber(int least) { return native::renumber(namespace_, least); }
  [[nodiscard]] const HostIds& ids() const { return ids_; }

 private:
  UserNamespace(UniqueFd made, const HostIds& ids) : namespace_(std::move(made)), ids_(ids) {}

  UniqueFd namespace_;
  HostIds ids_;
};

}  // namespace nutshell::native
