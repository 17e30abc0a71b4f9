// Sandboxes, protections and results as JSON: the same wherever they are printed.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "core/backend.h"
#include "core/exec.h"

namespace nutshell {

nlohmann::ordered_json to_json(const Limits& limits);
nlohmann::ordered_json to_json(const Protections& protections);
// Without its protections.
nlohmann::ordered_json to_json(const SandboxStatus& status);
// Null where nobody counts.
nlohmann::ordered_json to_json(const SandboxStats& stats);

// As `nutshell run --json` prints it; `add_streams` is for what the command wrote.
nlohmann::ordered_json to_json(
    const ExecResult& result,
    const std::function<void(nlohmann::ordered_json&)>& add_streams = nullptr);

}  // namespace nutshell
