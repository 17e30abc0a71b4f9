#include "tools/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/argument_parser.h"

namespace nutshell {
namespace {

using Json = nlohmann::ordered_json;
using Type = Parameter::Type;

Json object_of(const std::vector<Parameter>& parameters, Dialect dialect);

// The default is told in words: the strict modes of some APIs refuse the keyword `default`.
std::string description_of(const Parameter& parameter) {
  if (parameter.by_default.empty()) return parameter.help;
  const Json value = Json::parse(parameter.by_default);
  const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
  return parameter.help.empty() ? "Default " + shown
                                : fmt::format("{}; default {}", parameter.help, shown);
}

Json schema_of(const Parameter& parameter, Dialect dialect) {
  Json schema;
  switch (parameter.type) {
    case Type::String:
      schema["type"] = "string";
      break;
    case Type::Integer:
      schema["type"] = "integer";
      break;
    case Type::Boolean:
      schema["type"] = "boolean";
      break;
    case Type::StringList:
      schema["type"] = dialect == Dialect::RoomKit ? "string" : "array";
      if (dialect != Dialect::RoomKit) schema["items"] = {{"type", "string"}};
      break;
    case Type::ObjectList:
      schema["type"] = "array";
      schema["items"] = object_of(parameter.fields, dialect);
      break;
  }
  if (!parameter.choices.empty()) {
    for (const std::string& choice : parameter.choices)
      schema["enum"].push_back(choice.substr(0, choice.find('|')));
  }
  const bool counts_from_zero =
      dialect == Dialect::RoomKit && parameter.name == "offset" && parameter.least == 1;
  if (parameter.least != Parameter::kNoBound)
    schema["minimum"] = parameter.least - (counts_from_zero ? 1 : 0);
  if (parameter.most != Parameter::kNoBound) schema["maximum"] = parameter.most;
  const std::string description =
      counts_from_zero ? "First line, from 0" : description_of(parameter);
  if (!description.empty()) schema["description"] = description;
  return schema;
}

Json object_of(const std::vector<Parameter>& parameters, Dialect dialect) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  Json required = Json::array();
  Json properties = Json::object();
  for (const Parameter& parameter : parameters) {
    const std::string& name = name_in(dialect, parameter);
    properties[name] = schema_of(parameter, dialect);
    if (parameter.presence == Parameter::Presence::Required) required.push_back(name);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  return schema;
}

Json definition_of(const Tool& tool, Dialect dialect) {
  return {{"name", tool.name},
          {"description", tool.help},
          {"inputSchema", object_of(tool.parameters, dialect)}};
}

std::string_view type_word(Type type) {
  switch (type) {
    case Type::String:
      return "string";
    case Type::Integer:
      return "integer";
    case Type::Boolean:
      return "boolean";
    case Type::StringList:
      return "list of strings, or one string that is split as a shell does";
    case Type::ObjectList:
      return "list of objects";
  }
  return "string";
}

std::string names_of(const Parameter& parameter) {
  std::string text = fmt::format("`{}`", parameter.name);
  std::vector<std::string> also = parameter.aliases;
  if (!parameter.roomkit_name.empty()) also.push_back(parameter.roomkit_name);
  for (const std::string& name : also)
    text += fmt::format(", `{}`", name);
  return text;
}

std::string values_of(const Parameter& parameter) {
  std::string text(type_word(parameter.type));
  if (!parameter.choices.empty()) {
    text.clear();
    for (const std::string& choice : parameter.choices) {
      const std::size_t bar = choice.find('|');
      text += fmt::format("{}`{}`", text.empty() ? "" : ", ", choice.substr(0, bar));
      if (bar != std::string::npos) text += fmt::format(" (`{}`)", choice.substr(bar + 1));
    }
  }
  const bool has_least = parameter.least != Parameter::kNoBound;
  const bool has_most = parameter.most != Parameter::kNoBound;
  if (has_least && has_most) text += fmt::format(" {}..{}", parameter.least, parameter.most);
  if (has_least && !has_most) text += fmt::format(" from {}", parameter.least);
  if (!parameter.by_default.empty()) text += fmt::format(", default {}", parameter.by_default);
  for (const Parameter& field : parameter.fields)
    text += fmt::format("{} {}", &field == parameter.fields.data() ? " of" : ",", names_of(field));
  return text;
}

std::string hints_of(const ToolHints& hints) {
  if (hints.is_read_only) return "Reads only.";
  std::string text = hints.is_destructive ? "Changes files." : "Changes files; can be taken back.";
  if (hints.is_idempotent) text += " The same call twice does no more than once.";
  return text;
}

}  // namespace

std::string input_schema(const Tool& tool, Dialect dialect) {
  return object_of(tool.parameters, dialect).dump();
}

std::string tool_schema(const Tool& tool, Dialect dialect, Annotations annotations) {
  Json definition = definition_of(tool, dialect);
  if (annotations == Annotations::Given) {
    definition["annotations"] = {{"readOnlyHint", tool.hints.is_read_only},
                                 {"destructiveHint", tool.hints.is_destructive},
                                 {"idempotentHint", tool.hints.is_idempotent},
                                 {"openWorldHint", tool.hints.is_open_world}};
  }
  return definition.dump();
}

std::string catalogue(const std::vector<Tool>& tools, Dialect dialect) {
  Json list = Json::array();
  for (const Tool& tool : tools)
    list.push_back(definition_of(tool, dialect));
  return list.dump();
}

std::string markdown(const std::vector<Tool>& tools) {
  std::string text;
  for (const Tool& tool : tools) {
    text += fmt::format("### {}\n\n{} {}\n\n", tool.name, tool.help, hints_of(tool.hints));
    text += "| Argument | Values | |\n|---|---|---|\n";
    for (const Parameter& parameter : tool.parameters) {
      const bool is_required = parameter.presence == Parameter::Presence::Required;
      std::string note = is_required ? "required" : "";
      if (!parameter.help.empty()) note += (note.empty() ? "" : "; ") + parameter.help;
      text += fmt::format("| {} | {} | {} |\n", names_of(parameter), values_of(parameter), note);
    }
    text += "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace nutshell
