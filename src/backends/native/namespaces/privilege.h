// Whether we build sandboxes with real root's powers, or as a plain user inside a user namespace.
#pragma once

#include <sys/types.h>

namespace nutshell::native {

enum class Privilege {
  Root,      // CAP_SYS_ADMIN and friends in the initial user namespace (or one that maps all ids)
  Rootless,  // everything happens inside a user namespace of our own
};

Privilege find_privilege();

// The host's ids that a sandbox's uid and gid 1000 are. As root each sandbox gets ids nobody else
// has; rootless they can only be the caller's.
struct HostIds {
  uid_t user = 0;
  gid_t group = 0;
};
HostIds choose_host_ids(Privilege privilege);

inline constexpr uid_t kSandboxUser = 1000;
inline constexpr gid_t kSandboxGroup = 1000;

}  // namespace nutshell::native
