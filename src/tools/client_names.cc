#include "tools/client_names.h"

#include <algorithm>
#include <array>

namespace nutshell {
namespace {

using enum Reading;

// By tool, then by client: Claude Code, Codex, Gemini CLI. Names that Nutshell or RoomKit uses are
// in the descriptions of the tools.
constexpr auto kNames = std::to_array<ClientName>({
    {"read", "file_path", "path"},
    {"read", "absolute_path", "path"},
    {"write", "file_path", "path"},
    {"edit", "file_path", "path"},
    {"edit", "instruction", "old", Nothing},
    {"delete", "file_path", "path"},

    {"ls", "dir_path", "path"},

    {"grep", "output_mode", "mode"},
    {"grep", "-i", "ignore_case"},
    {"grep", "-n", "ignore_case", Nothing},  // lines are always numbered
    {"grep", "-A", "context", Widest},
    {"grep", "-B", "context", Widest},
    {"grep", "-C", "context", Widest},
    {"grep", "head_limit", "limit", Limit},
    {"grep", "limit", "limit", Limit},
    {"grep", "include", "glob"},
    {"grep", "dir_path", "path"},

    {"find", "pattern", "glob"},
    {"find", "head_limit", "limit", Limit},
    {"find", "limit", "limit", Limit},
    {"find", "dir_path", "path"},

    {"bash", "description", "command", Nothing},
    {"bash", "run_in_background", "wait", Background},
    {"bash", "cmd", "command"},
    {"bash", "workdir", "cwd"},
    {"bash", "timeout_ms", "timeout", Milliseconds},
    {"bash", "yield_time_ms", "wait", Milliseconds},
    {"bash", "max_output_tokens", "max_tokens", Clamped},
    {"bash", "justification", "command", Nothing},
    {"bash", "directory", "cwd"},
    {"bash", "dir_path", "cwd"},
    {"bash", "is_background", "wait", Background},

    {"job", "bash_id", "id"},
    {"job", "shell_id", "id"},
    {"job", "task_id", "id"},
    {"job", "chars", "input"},
    {"job", "yield_time_ms", "wait", Milliseconds},
    {"job", "max_output_tokens", "max_tokens", Clamped},
});

bool is_called(const Tool& tool, const ClientName& row) {
  if (!tool.name.ends_with(row.tool)) return false;
  return std::any_of(tool.parameters.begin(), tool.parameters.end(), [&](const Parameter& one) {
    return one.name == (row.reading == Reading::Limit ? "path" : row.parameter);
  });
}

}  // namespace

std::span<const ClientName> client_names() {
  return kNames;
}

const ClientName* find_client_name(const Tool& tool, std::string_view name) {
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const ClientName& row) {
    return row.name == name && is_called(tool, row);
  });
  return found == kNames.end() ? nullptr : found;
}

}  // namespace nutshell
