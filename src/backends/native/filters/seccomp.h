// The system-call filter of a native sandbox; sandbox.seccomp lists and explains its rules.
#pragma once

#include "base/result.h"

namespace nutshell {

// Whether init may take descriptors of commands, whose connections it makes.
enum class ForNetwork { No, Yes };

// The last step into a sandbox, because it forbids the calls that the steps before need. The caller
// must have called set_no_new_privileges().
Result<> filter_system_calls(ForNetwork network = ForNetwork::No);

}  // namespace nutshell
