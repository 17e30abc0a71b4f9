// Finds out whether a backend works by starting one sandbox with it.
#pragma once

#include <string>

#include "core/backend.h"

namespace nutshell::containers {

// Starts a sandbox, asks its init for an answer and stops it.
Result<> try_sandbox(Backend& backend, const SandboxSpec& spec);

// The row "sandbox" of a probe; `by` names the engine.
Protection trial_row(const Result<>& tried, std::string by);

}  // namespace nutshell::containers
