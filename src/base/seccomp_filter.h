// Puts a system-call filter on the calling thread. Nothing takes it off again: it passes to every
// child and through every exec.
#pragma once

#include <linux/filter.h>

#include <span>

#include "base/result.h"

namespace nutshell {

// From here on no exec raises privileges. The kernel wants it before a filter or Landlock rules of
// a process without CAP_SYS_ADMIN.
Result<> set_no_new_privileges();

Result<> install_seccomp_filter(std::span<const sock_filter> filter);

// For a child between vfork and exec: allocates nothing. Returns 0 or an error number.
int install_seccomp_filter_raw(std::span<const sock_filter> filter) noexcept;

}  // namespace nutshell
