// JSON arguments of a tool call, hostile until they are checked: strict about names and types, and
// clear about what is wrong.
#pragma once

#include <string_view>
#include <variant>

#include "core/tool.h"
#include "tools/arguments.h"
#include "tools/tool_context.h"

namespace nutshell {

std::variant<Arguments, ToolError> parse_arguments(const Tool& tool, std::string_view json,
                                                   Dialect dialect);

// What a parameter is called there.
const std::string& name_in(Dialect dialect, const Parameter& parameter);

}  // namespace nutshell
