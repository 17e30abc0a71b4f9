#include "cli/mcp_own_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/json_edit.h"

namespace nutshell::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<OwnTools>& all_own_tools() {
  static const std::vector<OwnTools> kAll = {
      {"claude-code",
       "Bash, Edit and Write",
       ".claude/settings.json",
       "permissions",
       "deny",
       {"Bash", "Edit", "Write", "NotebookEdit"}},
      {"gemini",
       "shell, write_file and replace",
       ".gemini/settings.json",
       "tools",
       "exclude",
       {"run_shell_command", "write_file", "replace"}},
      {.client = "codex",
       .what = "shell and apply_patch",
       .by_hand = "'shell_tool = false' below [features] of ~/.codex/config.toml turns its shell "
                  "off in all projects; apply_patch stays"},
      {.client = "cursor",
       .what = "terminal and editing tools",
       .by_hand = "turn them off in a custom mode of Cursor's chat"},
      {.client = "vscode",
       .what = "terminal and editing tools",
       .by_hand = "turn them off in the tool picker of the chat"},
      {.client = "zed",
       .what = "terminal and editing tools",
       .by_hand = "turn them off in an agent profile of Zed"},
      {.client = "goose",
       .what = "extension 'developer'",
       .by_hand = "disable the extension 'developer' with 'goose configure'"},
      {.client = "claude-desktop", .what = {}},
  };
  return kAll;
}

Failure not_understood(const OwnTools& tools) {
  return failure(
      ErrorCode::Unsupported,
      fmt::format("{} is not written as expected: deny the tools in it by hand", tools.path));
}

std::vector<std::string> listed(const Json& settings, const OwnTools& tools) {
  const Json::json_pointer place(fmt::format("/{}/{}", tools.object, tools.list));
  std::vector<std::string> words;
  if (!settings.contains(place) || !settings[place].is_array()) return words;
  for (const Json& word : settings[place])
    if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

bool holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Puts the list there with these words, or these words into it.
std::string inserted(const OwnTools& tools, const std::string& text, const Json& settings,
                     const std::vector<std::string>& words) {
  const auto list = find_json_member(text, {tools.object, tools.list});
  if (list && text[list->value] == '[') {
    std::string items;
    for (const std::string& word : words)
      items += (items.empty() ? "" : ", ") + Json(word).dump();
    return insert_first(text, list->value, items, 6);
  }
  const std::string name = Json(std::string(tools.list)).dump();
  const auto object = find_json_member(text, {tools.object});
  if (object && !list && text[object->value] == '{')
    return insert_first(text, object->value, name + ": " + Json(words).dump(), 4);
  if (object || settings.contains(std::string(tools.object))) return {};
  const Json fresh = {{std::string(tools.list), words}};
  return insert_first(text, text.find('{'),
                      fmt::format("\"{}\": {}", tools.object, indented_json(fresh, 2)), 2);
}

}  // namespace

const OwnTools& own_tools_of(const McpClient& client) {
  static const OwnTools kNone;
  for (const OwnTools& one : all_own_tools())
    if (one.client == client.name) return one;
  return kNone;
}

Result<std::string> with_own_tools_denied(const OwnTools& tools, const std::string& text) {
  const std::string before = text.find_first_not_of(" \t\r\n") == std::string::npos ? "{}\n" : text;
  const auto settings = parse_edited_json(before);
  if (!settings) return not_understood(tools);
  const std::vector<std::string> there = listed(*settings, tools);
  std::vector<std::string> missing;
  for (const std::string_view word : tools.words)
    if (!holds(there, word)) missing.emplace_back(word);
  if (missing.empty()) return text;
  std::string after = inserted(tools, before, *settings, missing);
  const auto made = parse_edited_json(after);
  if (!made || listed(*made, tools).size() != there.size() + missing.size())
    return not_understood(tools);
  Json rest = *made;
  Json old = *settings;
  for (Json* one : {&rest, &old})
    if (one->contains(std::string(tools.object)))
      (*one)[std::string(tools.object)].erase(std::string(tools.list));
  if (!settings->contains(std::string(tools.object))) rest.erase(std::string(tools.object));
  if (nlohmann::json(rest) != nlohmann::json(old)) return not_understood(tools);
  return after;
}

Result<std::string> with_own_tools_allowed(const OwnTools& tools, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return text;
  const auto settings = parse_edited_json(text);
  if (!settings) return not_understood(tools);
  std::vector<std::string> left = listed(*settings, tools);
  const std::size_t before = left.size();
  std::erase_if(left, [&](const std::string& word) {
    return std::find(tools.words.begin(), tools.words.end(), word) != tools.words.end();
  });
  if (left.size() == before) return text;
  const auto list = find_json_member(text, {tools.object, tools.list});
  if (!list) return not_understood(tools);
  const std::string old = text.substr(list->value, list->end - list->value);
  if (!Json::accept(old)) return not_understood(tools);  // a comment in it would be lost
  return text.substr(0, list->value) + Json(left).dump() + text.substr(list->end);
}

}  // namespace nutshell::cli
