// The environments that sandboxes were started with, in files that only their user can read: an
// engine would show them to everybody who may inspect.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::docker {

struct KeptEnvironment {
  std::string engine;  // whose container it is
  std::vector<std::string> environment;
  void fields(auto& visit) { visit(engine, environment); }
};

Result<> keep_environment(const std::string& id, const KeptEnvironment& kept);
// NotFound where the sandbox was made from another machine or by another user.
Result<std::vector<std::string>> kept_environment(const std::string& id);
void forget_environment(const std::string& id);
// Sandboxes in containers of this engine whose environments are kept.
std::vector<std::string> ids_with_environments(const std::string& engine);

}  // namespace nutshell::docker
