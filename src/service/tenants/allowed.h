// Checks the backend, runtime, image and registry of a spec against the operator's lists.
#pragma once

#include <string>

#include "base/result.h"
#include "core/sandbox_spec.h"
#include "service/model/caller.h"
#include "service/tenants/tenant_rules.h"

namespace nutshell::service {

// Completes an image name: "python" becomes docker.io/library/python:latest. A pattern with a '*'
// behind its last slash gets no tag, because the star may stand for one.
std::string whole_image_name(const std::string& image);
// Whether a name fits a pattern, in which '*' stands for any letters.
bool fits_image(const std::string& pattern, const std::string& image);
// The part of a whole name before its first slash.
std::string registry_of_image(const std::string& image);

// PermissionDenied for what is not in the lists. The owner, on the daemon's own socket, may use
// everything.
Result<> check_allowed(const TenantRules& rules, const Caller& caller, const SandboxSpec& spec);

// PermissionDenied unless the caller may give a sandbox a network, or change one.
Result<> check_network_allowed(const Caller& caller);

// Returns the spec if this caller may have it made. Refuses paths of this machine from callers that
// may not name them, and what is not in the lists.
Result<SandboxSpec> admit_spec(const TenantRules& rules, const Caller& caller, SandboxSpec spec);

}  // namespace nutshell::service
