// Tools that a user describes in a file: a name, parameters, and the argument vector to run with
// the values in their places. No shell is used, and no value becomes a flag unless declared.
//
//   [[tool]]
//   name = "lint"
//   description = "Check one Python file."
//   argv = ["ruff", "check", "--output-format={format}", "{path}"]
//   timeout = 60                  # seconds (120)
//   read_only = true              # changes no file (false)
//   [[tool.parameters]]
//   name = "path"
//   type = "string"               # or integer, boolean, strings
//   required = true
//   description = "File to check"
//   may_be_flag = false           # the value may begin with a dash
//   choices = ["a", "b"]
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tool.h"
#include "tools/arguments.h"

namespace nutshell {

// `name` is the name of the file, for messages.
Result<std::vector<Tool>> parse_user_tools(std::string_view toml, const std::string& name);

struct CommandTemplate {
  std::vector<std::string> argv;
  std::vector<std::string> may_be_flags;  // parameters whose values may begin with a dash
};

// Fills in the template. An element whose value was not given is left out; an element that is just
// a list becomes as many elements.
std::variant<std::vector<std::string>, ToolError> fill_template(const CommandTemplate& command,
                                                                const Arguments& arguments);

}  // namespace nutshell
