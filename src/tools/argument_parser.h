// Parses and checks the JSON arguments of a tool call, which are hostile input. Errors say which
// argument is wrong and what is expected.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <variant>

#include "core/tool.h"
#include "tools/arguments.h"
#include "tools/tool_context.h"

namespace nutshell {

using CheckedArguments = std::variant<Arguments, ToolError>;

CheckedArguments parse_arguments(const Tool& tool, std::string_view json, Dialect dialect);
// For JSON that was parsed where it came in, strictly: no key of it stands twice in an object.
CheckedArguments check_arguments(const Tool& tool, const nlohmann::json& object, Dialect dialect);

// The name of a parameter in that dialect.
const std::string& name_in(Dialect dialect, const Parameter& parameter);

}  // namespace nutshell
