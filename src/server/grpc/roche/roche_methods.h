// The service roche.v1.SandboxService, which clients of Roche call: each method is an operation of
// our service under other names. A method without a meaning here is refused with the reason.
#pragma once

#include <vector>

#include "roche/sandbox_request.h"
#include "server/grpc/methods.h"

namespace nutshell::server {

// All methods; Internal if one has no handler.
Result<std::vector<Method>> roche_methods(const roche::Choices& choices);

std::vector<Method> roche_sandbox_methods(const roche::Choices& choices);
std::vector<Method> roche_exec_methods();
std::vector<Method> roche_copy_methods();

}  // namespace nutshell::server
