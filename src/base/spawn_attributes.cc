#include "base/spawn_attributes.h"

#include <signal.h>

namespace nutshell {

SpawnAttributes::SpawnAttributes(Session session) {
  ::posix_spawnattr_init(&attributes_);
  sigset_t set;
  ::sigemptyset(&set);
  ::posix_spawnattr_setsigmask(&attributes_, &set);
  ::sigaddset(&set, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes_, &set);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (session == Session::Own) flags |= POSIX_SPAWN_SETSID;
  ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
}

}  // namespace nutshell
