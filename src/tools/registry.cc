#include "tools/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/closest_word.h"
#include "tools/built_in.h"

namespace nutshell {
namespace {

bool is_called(const Tool& tool, const std::string& name, const std::string& prefix) {
  return name == tool.name || prefix + name == tool.name || name == prefix + tool.name;
}

Failure no_such_tool(const std::string& name, const std::vector<Tool>& tools) {
  std::vector<std::string> names;
  std::string all;
  for (const Tool& tool : tools) {
    names.push_back(tool.name);
    all += (all.empty() ? "" : ", ") + tool.name;
  }
  const std::string best = closest_word(name, names);
  return failure(ErrorCode::InvalidArgument,
                 best.empty() ? fmt::format("no tool '{}': there are {}", name, all)
                              : fmt::format("no tool '{}': did you mean '{}'?", name, best));
}

// Fills in the names of other tools.
std::string with_names(std::string help, const std::string& prefix) {
  for (std::size_t at = help.find('@'); at != std::string::npos; at = help.find('@', at))
    help.replace(at, 1, prefix);
  return help;
}

// The built-in tools, as their files describe them.
const std::vector<Tool>& built_in_tools() {
  static const std::vector<Tool> kTools = {
      make_read_tool(), make_write_tool(),  make_edit_tool(), make_ls_tool(),     make_grep_tool(),
      make_find_tool(), make_git_tool(),    make_diff_tool(), make_delete_tool(), make_bash_tool(),
      make_job_tool(),  make_recall_tool(), make_undo_tool(),
  };
  return kTools;
}

std::vector<Tool> named_for(const std::string& prefix) {
  std::vector<Tool> tools = built_in_tools();
  for (Tool& tool : tools)
    tool.help = with_names(std::move(tool.help), prefix);
  return tools;
}

}  // namespace

const std::vector<Tool>& tool_registry() {
  static const std::vector<Tool> kTools = named_for("");
  return kTools;
}

Result<const Tool*> find_tool(const std::vector<Tool>& tools, const std::string& name,
                              const std::string& prefix) {
  for (const Tool& tool : tools) {
    if (is_called(tool, name, prefix)) return &tool;
  }
  return no_such_tool(name, tools);
}

Result<std::vector<Tool>> choose_tools(const ToolChoice& choice) {
  std::vector<Tool> all = named_for(choice.prefix);
  for (const Tool& tool : choice.user_tools) {
    const bool is_taken = std::any_of(all.begin(), all.end(),
                                      [&](const Tool& other) { return other.name == tool.name; });
    if (is_taken)
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("two tools are called '{}'", tool.name));
    all.push_back(tool);
  }
  for (const std::string& name : choice.names)
    TRY(find_tool(all, name, choice.prefix));
  std::vector<Tool> chosen;
  for (Tool& tool : all) {
    const bool is_named =
        choice.names.empty() ||
        std::any_of(choice.names.begin(), choice.names.end(),
                    [&](const std::string& name) { return is_called(tool, name, choice.prefix); });
    // git stays: in a read-only session it allows only subcommands that read.
    const bool may_stay = !choice.reads_only || tool.hints.is_read_only || tool.name == "git";
    if (!is_named || !may_stay) continue;
    tool.name = choice.prefix + tool.name;
    if (choice.reads_only) tool.hints = {.is_read_only = true};
    chosen.push_back(std::move(tool));
  }
  return chosen;
}

}  // namespace nutshell
