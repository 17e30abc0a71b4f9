// Formats sandboxes and protections for people.
#pragma once

#include <string>

#include "core/backend.h"

namespace nutshell::cli {

void print_protections(const Protections& protections);
std::string summary_of(const SandboxSpec& spec);

}  // namespace nutshell::cli
