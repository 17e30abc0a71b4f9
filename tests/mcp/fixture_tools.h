// The tools of the fixture, and how they ask back.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/mcp/host.h"

namespace nutshell::mcp {

// {"tools":[…]}
std::string fixture_tool_listing();

// An answer that wants answers: {"name": {"method": …, "params": …}}.
Reply ask_back(const Json& requests, const std::string& state = {});
// A form with one field.
Json elicitation(const std::string& message, const std::string& field, const std::string& type);
// Returns the content of the form of that name, if the user accepted it.
std::optional<Json> elicited(const Call& call, const std::string& name);
// Any response of that name that is an object.
std::optional<Json> response_of(const Call& call, const std::string& name);

}  // namespace nutshell::mcp
