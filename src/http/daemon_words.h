// Specs and sandboxes in the words of the daemon's API.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/backend.h"

namespace nutshell::http {

// The body of a request for such a sandbox; it has room for UTF-8 alone.
Result<std::string> to_body(const SandboxSpec& spec);

Result<SandboxStatus> status_of(const nlohmann::json& object);
Result<SandboxStats> stats_of(const nlohmann::json& object);
Result<Protections> protections_of(const nlohmann::json& list);

}  // namespace nutshell::http
