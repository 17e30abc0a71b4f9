// The environments that sandboxes were started with, in files that only their user can read: an
// engine would show them to everybody who may inspect.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::docker {

Result<> keep_environment(const std::string& id, const std::vector<std::string>& environment);
// NotFound where the sandbox was made from another machine or by another user.
Result<std::vector<std::string>> kept_environment(const std::string& id);
void forget_environment(const std::string& id);

}  // namespace nutshell::docker
