// What a tenant may choose: backends, runtimes, images and registries, as the operator's lists say.
#pragma once

#include <string>

#include "base/result.h"
#include "core/sandbox_spec.h"
#include "service/model/caller.h"
#include "service/tenants/tenant_rules.h"

namespace nutshell::service {

// "python" is docker.io/library/python:latest. A pattern with a '*' behind its last slash gets no
// tag: the star may stand for one.
std::string whole_image_name(const std::string& image);
// Whether a name fits a pattern, in which '*' stands for any letters.
bool fits_image(const std::string& pattern, const std::string& image);
// The part of a whole name before its first slash.
std::string registry_of_image(const std::string& image);

// Refuses what the lists do not have. The owner, on the daemon's own socket, may use everything.
Result<> check_allowed(const TenantRules& rules, const Caller& caller, const SandboxSpec& spec);

// The spec as this caller may have it made: nothing of this machine's files without the right to
// name them, and nothing that the lists do not have.
Result<SandboxSpec> admit_spec(const TenantRules& rules, const Caller& caller, SandboxSpec spec);

}  // namespace nutshell::service
