// Whether this process makes sandboxes as the host's root, or as a plain user in a user namespace.
#pragma once

#include <sys/types.h>

namespace nutshell::native {

enum class Privilege {
  Root,      // has CAP_SYS_ADMIN and others in a user namespace that maps all ids
  Rootless,  // makes everything in a user namespace of its own
};

Privilege find_privilege();

// The ids on the host to which a sandbox's uid and gid 1000 are mapped. As root, each sandbox gets
// ids of its own; rootless, they are the caller's.
struct HostIds {
  uid_t user = 0;
  gid_t group = 0;
};
HostIds choose_host_ids(Privilege privilege);

inline constexpr uid_t kSandboxUser = 1000;
inline constexpr gid_t kSandboxGroup = 1000;

}  // namespace nutshell::native
