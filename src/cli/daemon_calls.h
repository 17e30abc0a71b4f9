// Shared by the commands that only a daemon can serve.
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

// Calls `use` with a client of the chosen daemon. An error if there is none, or if it answers with
// unexpected JSON.
Result<int> with_daemon(Program& program, const std::function<Result<int>(api::ApiClient&)>& use);

// The spec as the API takes it.
Json spec_json(SandboxSpec spec);
Result<std::int64_t> milliseconds_of(const std::string& text, std::string_view flag);

}  // namespace nutshell::cli
