// Puts a system-call filter on the calling thread. Nothing takes it off again: it passes to every
// child and through every exec.
#pragma once

#include <linux/filter.h>

#include <span>

#include "base/result.h"

namespace nutshell {

// Sets no_new_privs: from here on no exec raises privileges. The kernel requires it of a process
// without CAP_SYS_ADMIN before it installs a filter or Landlock rules.
Result<> set_no_new_privileges();

Result<> install_seccomp_filter(std::span<const sock_filter> filter);

// For a child between vfork and exec: allocates nothing. Returns 0 or an error number.
int install_seccomp_filter_raw(std::span<const sock_filter> filter) noexcept;

}  // namespace nutshell
