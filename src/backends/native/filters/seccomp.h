// The system-call filter of a native sandbox; sandbox.seccomp lists and explains its rules.
#pragma once

#include "base/result.h"

namespace nutshell {

// The last step into a sandbox, because it forbids the calls that the steps before need. The caller
// must have called set_no_new_privileges().
Result<> filter_system_calls();

}  // namespace nutshell
