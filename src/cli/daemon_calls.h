// What the commands share that only a daemon can do.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api_client/api_client.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace nutshell::cli {

using Json = nlohmann::ordered_json;

// Calls `use` with the daemon that was chosen. Without one it says how to have one; an answer of
// another shape than expected is an error.
Result<int> with_daemon(Program& program, const std::function<Result<int>(api::ApiClient&)>& use);

// As the API takes it.
Json spec_json(SandboxSpec spec);
Result<std::int64_t> milliseconds_of(const std::string& text, std::string_view flag);

}  // namespace nutshell::cli
