// Sandboxes and protections as JSON and as tables, the same everywhere.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/backend.h"

namespace nutshell::cli {

nlohmann::ordered_json to_json(const Protections& protections);
nlohmann::ordered_json to_json(const SandboxStatus& status);

void print_protections(const Protections& protections);
std::string summary_of(const SandboxSpec& spec);

}  // namespace nutshell::cli
