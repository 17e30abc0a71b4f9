#include "cli/mcp_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/json_edit.h"
#include "cli/mcp_lines.h"

namespace nutshell::cli {
namespace {

using Json = nlohmann::ordered_json;
using Format = McpClient::Format;
constexpr int kCallSeconds = 600;

Failure not_understood(const McpClient& client) {
  return failure(ErrorCode::Unsupported,
                 fmt::format("{} is not written as expected: put it in by hand", client.path));
}

std::vector<std::string> arguments_for(const McpClient& client, const McpCommand& command) {
  std::vector<std::string> words = command.arguments;
  const bool has_place = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--no-project" || word == "--workspace" || word.starts_with("--workspace=");
  });
  if (client.workspace.empty() || has_place) return words;
  words.emplace_back("--workspace");
  words.emplace_back(client.workspace);
  return words;
}

Json entry_of(const McpClient& client, const McpCommand& command) {
  Json entry = Json::object();
  if (client.name == "vscode") entry["type"] = "stdio";
  entry["command"] = command.program;
  entry["args"] = arguments_for(client, command);
  if (client.name == "gemini") entry["timeout"] = kCallSeconds * 1000;
  return entry;
}

Result<std::string> put_json(const McpClient& client, const std::string& text,
                             const McpCommand& command) {
  const auto before = parse_edited_json(text);
  if (!before) return not_understood(client);
  const Json entry = entry_of(client, command);
  const std::string named = fmt::format("\"{}\": {}", kMcpServerName, indented_json(entry, 4));
  std::string after;
  const auto servers = find_json_member(text, {client.key});
  if (servers && text[servers->value] == '{') {
    after = insert_first(text, servers->value, named, 4);
  } else if (!servers && !before->contains(client.key)) {
    const Json object = {{kMcpServerName, entry}};
    after = insert_first(text, text.find('{'),
                         fmt::format("\"{}\": {}", client.key, indented_json(object, 2)), 2);
  }
  if (after.empty()) return not_understood(client);
  Json wanted = *before;
  wanted[std::string(client.key)][kMcpServerName] = entry;
  const auto made = parse_edited_json(after);
  // Parses the result again: another program must read exactly what was meant.
  if (!made || nlohmann::json(*made) != nlohmann::json(wanted)) return not_understood(client);
  return after;
}

Result<std::string> take_json(const McpClient& client, const std::string& text) {
  const auto before = parse_edited_json(text);
  if (!before) return not_understood(client);
  const auto place = find_json_member(text, {client.key, kMcpServerName});
  if (!place) return text;
  std::size_t begin = place->key;
  std::size_t end = place->end;
  const std::size_t next = text.find_first_not_of(" \t\r\n", end);
  if (next != std::string::npos && text[next] == ',') {
    end = next + 1;
    begin = text.find_last_not_of(" \t\r\n", begin - 1) + 1;
  } else {
    const std::size_t last = text.find_last_not_of(" \t\r\n", begin - 1);
    begin = text[last] == ',' ? last : last + 1;
  }
  const std::string after = text.substr(0, begin) + text.substr(end);
  Json wanted = *before;
  wanted[std::string(client.key)].erase(kMcpServerName);
  const auto made = parse_edited_json(after);
  if (!made || nlohmann::json(*made) != nlohmann::json(wanted)) return not_understood(client);
  return after;
}

std::string toml_block(const McpClient& client, const McpCommand& command) {
  return fmt::format(
      "[{}.{}]\ncommand = {}\nargs = {}\nstartup_timeout_sec = 30\ntool_timeout_sec = {}\n",
      client.key, kMcpServerName, Json(command.program).dump(),
      Json(arguments_for(client, command)).dump(), kCallSeconds);
}

std::string yaml_entry(const McpClient& client, const McpCommand& command) {
  return fmt::format(
      "{0}:\n  enabled: true\n  type: stdio\n  name: {0}\n  cmd: {1}\n  args: {2}\n  timeout: "
      "{3}\n",
      kMcpServerName, Json(command.program).dump(), Json(arguments_for(client, command)).dump(),
      kCallSeconds);
}

}  // namespace

const std::vector<McpClient>& mcp_clients() {
  using enum McpClient::Place;
  static const std::vector<McpClient> kClients = {
      {"claude-code", Project, ".mcp.json", Format::Json, "mcpServers", ""},
      {"claude-desktop", Home, ".config/Claude/claude_desktop_config.json", Format::Json,
       "mcpServers", "", "/"},
      {"codex", Home, ".codex/config.toml", Format::Toml, "mcp_servers", ""},
      {"cursor", Project, ".cursor/mcp.json", Format::Json, "mcpServers", "${workspaceFolder}"},
      {"vscode", Project, ".vscode/mcp.json", Format::Json, "servers", "${workspaceFolder}"},
      {"gemini", Project, ".gemini/settings.json", Format::Json, "mcpServers", ""},
      {"zed", Home, ".config/zed/settings.json", Format::Json, "context_servers", ""},
      {"goose", Home, ".config/goose/config.yaml", Format::Yaml, "extensions", ""},
  };
  return kClients;
}

Result<const McpClient*> find_mcp_client(const std::string& name) {
  std::string all;
  for (const McpClient& client : mcp_clients()) {
    if (client.name == name) return &client;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", client.name);
  }
  return failure(ErrorCode::InvalidArgument, fmt::format("no client '{}': {}", name, all));
}

std::string only_server(const McpClient& client, const McpCommand& command) {
  switch (client.format) {
    case Format::Toml:
      return toml_block(client, command);
    case Format::Yaml:
      return put_yaml_block("", client.key, yaml_entry(client, command)).value_or("");
    case Format::Json:
      break;
  }
  const Json servers = {{kMcpServerName, entry_of(client, command)}};
  return Json{{std::string(client.key), servers}}.dump(2) + "\n";
}

Result<std::string> with_server(const McpClient& client, const std::string& text,
                                const McpCommand& command) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return only_server(client, command);
  const auto there = TRY(server_in(client, text));
  const McpCommand wanted{command.program, arguments_for(client, command)};
  if (there && *there == wanted) return text;
  const std::string free = TRY(without_server(client, text));
  switch (client.format) {
    case Format::Json:
      return put_json(client, free, command);
    case Format::Toml:
      return free + (free.ends_with('\n') ? "\n" : "\n\n") + toml_block(client, command);
    case Format::Yaml:
      break;
  }
  auto made = put_yaml_block(free, client.key, yaml_entry(client, command));
  if (!made) return not_understood(client);
  return std::move(*made);
}

Result<std::string> without_server(const McpClient& client, const std::string& text) {
  switch (client.format) {
    case Format::Json:
      return take_json(client, text);
    case Format::Toml:
      return take_toml_table(text, fmt::format("{}.{}", client.key, kMcpServerName));
    case Format::Yaml:
      return take_yaml_block(text, client.key, kMcpServerName);
  }
  return text;
}

Result<std::optional<McpCommand>> server_in(const McpClient& client, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return std::optional<McpCommand>();
  Json entry;
  if (client.format == Format::Json) {
    const auto parsed = parse_edited_json(text);
    if (!parsed) return not_understood(client);
    const Json::json_pointer place(fmt::format("/{}/{}", client.key, kMcpServerName));
    if (!parsed->contains(place)) return std::optional<McpCommand>();
    entry = (*parsed)[place];
  } else {
    const bool is_toml = client.format == Format::Toml;
    const std::string block =
        is_toml ? toml_table(text, fmt::format("{}.{}", client.key, kMcpServerName))
                : yaml_block(text, client.key, kMcpServerName);
    if (block.empty()) return std::optional<McpCommand>();
    entry["command"] = Json::parse(value_of(block, is_toml ? "command" : "cmd"), nullptr, false);
    entry["args"] = Json::parse(value_of(block, "args"), nullptr, false);
  }
  if (!entry.is_object() || !entry["command"].is_string() || !entry["args"].is_array())
    return not_understood(client);
  McpCommand command{entry["command"], {}};
  for (const Json& word : entry["args"])
    if (word.is_string()) command.arguments.push_back(word);
  return std::optional<McpCommand>(command);
}

}  // namespace nutshell::cli
