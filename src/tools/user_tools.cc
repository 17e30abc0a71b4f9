#include "tools/user_tools.h"

#include <fmt/format.h>

#include <algorithm>
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/toml_text.h"
#include "tools/command_text.h"
#include "tools/result_text.h"
#include "tools/shell_words.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 6000;
constexpr std::int64_t kTimeout = 120;
constexpr std::chrono::seconds kWait{30};

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// ---- Filling in -------------------------------------------------------------------------------

// "--file={path}" is the literal "--file=" and the place `path`.
struct Piece {
  std::string literal;
  std::string place;  // behind the literal; empty: nothing
};

std::vector<Piece> pieces_of(std::string_view element) {
  std::vector<Piece> pieces;
  while (!element.empty()) {
    const std::size_t open = element.find('{');
    const std::size_t close = open == std::string_view::npos ? open : element.find('}', open);
    if (close == std::string_view::npos) {
      pieces.push_back({std::string(element), {}});
      return pieces;
    }
    pieces.push_back({std::string(element.substr(0, open)),
                      std::string(element.substr(open + 1, close - open - 1))});
    element.remove_prefix(close + 1);
  }
  return pieces;
}

std::optional<std::string> value_of(const Arguments& arguments, const std::string& name) {
  if (const std::string* text = arguments.text_if(name)) return *text;
  if (!arguments.has(name)) return std::nullopt;
  if (const auto words = arguments.texts(name); !words.empty()) return join_shell_words(words);
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  if (const std::int64_t number = arguments.integer(name, kNone); number != kNone)
    return std::to_string(number);
  return arguments.is_set(name) ? "true" : "false";
}

ToolError would_be_flag(const std::string& name, const std::string& value) {
  return {ErrorCode::InvalidArgument, fmt::format("`{}` begins with a dash: {}.", name, value),
          "The program would take it for an option.", "Put ./ before a path."};
}

class Filler {
 public:
  Filler(const CommandTemplate& command, const Arguments& arguments)
      : command_(command), arguments_(arguments) {}

  std::optional<ToolError> add(const std::string& element) {
    const std::vector<Piece> pieces = pieces_of(element);
    const bool is_alone = pieces.size() == 1 && pieces[0].literal.empty();
    if (is_alone && !arguments_.texts(pieces[0].place).empty()) {
      for (const std::string& word : arguments_.texts(pieces[0].place)) {
        if (auto error = push(word, pieces[0].place)) return error;
      }
      return std::nullopt;
    }
    std::string text;
    for (const Piece& piece : pieces) {
      text += piece.literal;
      if (piece.place.empty()) continue;
      const auto value = value_of(arguments_, piece.place);
      if (!value) return std::nullopt;  // optional, and not given: the element goes with it
      text += *value;
    }
    const bool begins_with_value = !pieces.empty() && pieces[0].literal.empty();
    if (begins_with_value) return push(text, pieces[0].place);
    argv.push_back(std::move(text));
    return std::nullopt;
  }

  std::vector<std::string> argv;

 private:
  std::optional<ToolError> push(const std::string& text, const std::string& place) {
    const auto& allowed = command_.may_be_flags;
    const bool is_allowed = std::find(allowed.begin(), allowed.end(), place) != allowed.end();
    if (text.starts_with('-') && !is_allowed) return would_be_flag(place, text);
    argv.push_back(text);
    return std::nullopt;
  }

  const CommandTemplate& command_;
  const Arguments& arguments_;
};

// ---- Running ----------------------------------------------------------------------------------

struct UserTool {
  Tool tool;
  CommandTemplate command;
  std::int64_t timeout = kTimeout;
};

Result<ToolResult> run_user_tool(const UserTool& user, const Arguments& arguments,
                                 ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  auto filled = fill_template(user.command, arguments);
  if (auto* error = std::get_if<ToolError>(&filled)) return refuse(std::move(*error));
  CommandRequest request;
  request.argv = std::get<std::vector<std::string>>(std::move(filled));
  request.shown = join_shell_words(request.argv);
  request.timeout = std::chrono::seconds(user.timeout);
  request.wait = std::min<std::chrono::seconds>(kWait, std::chrono::seconds(user.timeout));
  request.reads_only = user.tool.hints.is_read_only;
  const CommandState state = TRY(context.commands.run(request));
  CommandTelling telling;
  telling.question = user.tool.name + " " + request.shown;
  return tell_command(state, context, budget, telling);
}

// ---- Reading the file -------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(const std::string& name) : file_(name) {}

  Result<UserTool> tool(const toml::table& table) const {
    UserTool user;
    TRY(known(table, {"name", "description", "argv", "timeout", "read_only", "parameters"}));
    user.tool.name = TRY(text(table, "name"));
    user.tool.help = TRY(text(table, "description"));
    if (!is_name(user.tool.name))
      return wrong(fmt::format("'{}' is no name: use a-z, 0-9 and _", user.tool.name));
    user.command.argv = TRY(texts(table, "argv"));
    if (user.command.argv.empty() || user.command.argv.front().find('{') != std::string::npos)
      return wrong(fmt::format("{}: argv must begin with a program's name", user.tool.name));
    user.timeout = table["timeout"].value_or(kTimeout);
    if (user.timeout < 1 || user.timeout > 3600)
      return wrong(fmt::format("{}: timeout must be 1..3600 seconds", user.tool.name));
    user.tool.hints.is_read_only = table["read_only"].value_or(false);
    user.tool.hints.is_destructive = !user.tool.hints.is_read_only;
    if (const toml::array* parameters = table["parameters"].as_array()) {
      for (const toml::node& node : *parameters) {
        if (node.as_table() == nullptr) return wrong("parameters must be [[tool.parameters]]");
        TRY(add_parameter(*node.as_table(), user));
      }
    }
    TRY(check_places(user));
    user.tool.parameters.push_back(max_tokens_parameter(kTokens));
    return user;
  }

  [[nodiscard]] Failure wrong(const std::string& what) const {
    return failure(ErrorCode::InvalidArgument, fmt::format("{}: {}", file_, what));
  }

 private:
  Result<> known(const toml::table& table, std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : table) {
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        return wrong(fmt::format("unknown key '{}'", std::string(key.str())));
    }
    return {};
  }

  Result<std::string> text(const toml::table& table, const std::string& key) const {
    const auto value = table[key].value_exact<std::string>();
    if (!value || value->empty()) return wrong(fmt::format("{} must be a text", key));
    return *value;
  }

  Result<std::vector<std::string>> texts(const toml::table& table, const std::string& key) const {
    std::vector<std::string> words;
    const toml::array* list = table[key].as_array();
    if (list == nullptr) return wrong(fmt::format("{} must be a list of texts", key));
    for (const toml::node& node : *list) {
      const auto word = node.value_exact<std::string>();
      if (!word || word->find('\0') != std::string::npos)
        return wrong(fmt::format("{} must be a list of texts", key));
      words.push_back(*word);
    }
    return words;
  }

  Result<> add_parameter(const toml::table& table, UserTool& user) const {
    TRY(known(table, {"name", "type", "required", "description", "may_be_flag", "choices"}));
    Parameter parameter;
    parameter.name = TRY(text(table, "name"));
    if (!is_name(parameter.name) || parameter.name == "max_tokens")
      return wrong(fmt::format("'{}' cannot be a parameter's name", parameter.name));
    parameter.type = TRY(type_of(table["type"].value_or(std::string("string"))));
    parameter.help = table["description"].value_or(std::string());
    const bool is_required = table["required"].value_or(false);
    if (is_required) parameter.presence = Parameter::Presence::Required;
    if (table["choices"].as_array() != nullptr) parameter.choices = TRY(texts(table, "choices"));
    if (table["may_be_flag"].value_or(false)) user.command.may_be_flags.push_back(parameter.name);
    user.tool.parameters.push_back(std::move(parameter));
    return {};
  }

  [[nodiscard]] Result<Parameter::Type> type_of(const std::string& word) const {
    if (word == "string") return Parameter::Type::String;
    if (word == "integer") return Parameter::Type::Integer;
    if (word == "boolean") return Parameter::Type::Boolean;
    if (word == "strings") return Parameter::Type::StringList;
    return wrong(fmt::format("type '{}': there are string, integer, boolean, strings", word));
  }

  [[nodiscard]] Result<> check_places(const UserTool& user) const {
    const auto& parameters = user.tool.parameters;
    for (const std::string& element : user.command.argv) {
      for (const Piece& piece : pieces_of(element)) {
        const bool is_known =
            piece.place.empty() ||
            std::any_of(parameters.begin(), parameters.end(),
                        [&](const Parameter& other) { return other.name == piece.place; });
        if (!is_known)
          return wrong(fmt::format("{}: argv has a place for '{}', and there is no such parameter",
                                   user.tool.name, piece.place));
      }
    }
    return {};
  }

  std::string file_;
};

}  // namespace

std::variant<std::vector<std::string>, ToolError> fill_template(const CommandTemplate& command,
                                                                const Arguments& arguments) {
  Filler filler(command, arguments);
  for (const std::string& element : command.argv) {
    if (auto error = filler.add(element)) return std::move(*error);
  }
  return std::move(filler.argv);
}

Result<std::vector<Tool>> parse_user_tools(std::string_view toml, const std::string& name) {
  const Reader reader(name);
  if (const auto sound = check_toml_text(toml); !sound)
    return reader.wrong("line " + sound.error().message);
  const toml::parse_result parsed = toml::parse(toml);
  if (!parsed) {
    return reader.wrong(fmt::format("line {}: {}", parsed.error().source().begin.line,
                                    parsed.error().description()));
  }
  for (const auto& [key, value] : parsed.table()) {
    if (key.str() != "tool" || value.as_array() == nullptr)
      return reader.wrong(fmt::format("unknown key '{}': tools are [[tool]]", key.str()));
  }
  std::vector<Tool> tools;
  const toml::array* list = parsed.table()["tool"].as_array();
  if (list == nullptr) return reader.wrong("there is no [[tool]] in it");
  for (const toml::node& node : *list) {
    if (node.as_table() == nullptr) return reader.wrong("tools are [[tool]]");
    UserTool user = TRY(reader.tool(*node.as_table()));
    Tool tool = user.tool;
    tool.run = [user](const Arguments& arguments, ToolContext& context) {
      return run_user_tool(user, arguments, context);
    };
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace nutshell
