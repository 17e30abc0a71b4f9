// The tools that a client has itself. They work on the machine, not in the sandbox; some clients
// have a setting that denies them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/mcp_config.h"

namespace nutshell::cli {

struct OwnTools {
  std::string_view client;
  std::string_view what;  // "Bash, Edit and Write"; empty: it has none
  // The setting that denies them: a list of strings in an object of a JSON file, beside the
  // client's configuration of servers. An empty path: there is none.
  std::string_view path = {};
  std::string_view object = {};
  std::string_view list = {};
  std::vector<std::string_view> words = {};
  std::string_view by_hand = {};  // what a person can do where there is no such setting
};

const OwnTools& own_tools_of(const McpClient& client);

// The text of the file with the tools denied, or allowed again. An error if it is not understood.
Result<std::string> with_own_tools_denied(const OwnTools& tools, const std::string& text);
Result<std::string> with_own_tools_allowed(const OwnTools& tools, const std::string& text);

}  // namespace nutshell::cli
