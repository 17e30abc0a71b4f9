#include "tools/argument_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/closest_word.h"
#include "core/json_text.h"
#include "tools/client_names.h"
#include "tools/shell_words.h"

namespace nutshell {
namespace {

using Json = nlohmann::json;
using Type = Parameter::Type;
constexpr std::size_t kMostDepth = 8;
constexpr std::size_t kMostShown = 60;  // characters of a wrong value

ToolError argument_error(std::string what, std::string next = {}) {
  return {ErrorCode::InvalidArgument, std::move(what), {}, std::move(next)};
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMostShown) text.replace(kMostShown, std::string::npos, "…");
  return text;
}

std::variant<Json, ToolError> parse_text(std::string_view text) {
  auto document = parse_strict(text, {.bytes = SIZE_MAX, .depth = kMostDepth});
  if (!document) {
    return ToolError{ErrorCode::InvalidArgument, "The arguments are not valid JSON.",
                     std::move(document).error().message,
                     R"(Send one object, like {"path": "src/a.c"}.)"};
  }
  return std::move(*document);
}

class Checker {
 public:
  explicit Checker(Dialect dialect) : dialect_(dialect) {}

  CheckedArguments check(const Json& object, const Tool& tool) const {
    return check(object, tool.parameters, &tool);
  }

 private:
  using Checked = std::variant<Arguments::Value, ToolError>;
  using MaybeError = std::optional<ToolError>;

  // `tool` is null for the objects of a list.
  CheckedArguments check(const Json& object, const std::vector<Parameter>& parameters,
                         const Tool* tool) const {
    Arguments arguments;
    for (const auto& [key, value] : object.items()) {
      if (auto error = take(key, value, {parameters, tool}, arguments)) return std::move(*error);
    }
    for (const Parameter& parameter : parameters) {
      if (parameter.presence == Parameter::Presence::Required && !arguments.has(parameter.name))
        return argument_error(fmt::format("`{}` is missing.", name_in(dialect_, parameter)),
                              fmt::format("Give these: {}.", names(parameters)));
    }
    return arguments;
  }

  struct Known {
    const std::vector<Parameter>& parameters;
    const Tool* tool;
  };
  MaybeError take(const std::string& key, const Json& value, const Known& known,
                  Arguments& arguments) const {
    const Parameter* parameter = find(key, known.parameters);
    if (parameter == nullptr && known.tool != nullptr) {
      if (const ClientName* row = find_client_name(*known.tool, key))
        return take_as_client(*row, value, *known.tool, arguments);
    }
    if (parameter == nullptr) return unknown(key, known.parameters);
    if (value.is_null()) return std::nullopt;  // many clients send null for an omitted argument
    if (stands_for_nothing(*parameter, value)) return std::nullopt;
    if (parameter->name == "timeout" && is_in_milliseconds(*parameter, value))
      return set(*parameter, key, std::ceil(value.get<double>() / 1000), arguments);
    return set(*parameter, key, value, arguments);
  }

  MaybeError set(const Parameter& parameter, const std::string& key, const Json& value,
                 Arguments& arguments) const {
    if (arguments.has(parameter.name))
      return argument_error(
          fmt::format("`{}` is given twice, as `{}` too.", name_in(dialect_, parameter), key),
          "Give it once.");
    auto checked = convert(parameter, value);
    if (auto* error = std::get_if<ToolError>(&checked)) return std::move(*error);
    arguments.set(parameter.name, std::get<Arguments::Value>(std::move(checked)));
    return std::nullopt;
  }

  // Takes a value under the name that another client's tool has for it.
  MaybeError take_as_client(const ClientName& row, const Json& value, const Tool& tool,
                            Arguments& arguments) const {
    if (row.reading == Reading::Nothing || value.is_null()) return std::nullopt;
    const std::string key(row.name);
    if (row.reading == Reading::Limit) {
      Parameter limit;
      limit.name = row.parameter;
      limit.type = Type::Integer;
      limit.least = 0;
      return set(limit, key, value, arguments);
    }
    const Parameter& parameter = *find(std::string(row.parameter), tool.parameters);
    switch (row.reading) {
      case Reading::Background:
        if (!value.is_boolean()) return wrong(named(parameter, key), "true or false", value);
        return value.get<bool>() ? set(parameter, key, 0, arguments) : std::nullopt;
      case Reading::Milliseconds:
        return set(parameter, key, in_seconds(parameter, value), arguments);
      case Reading::Clamped:
        return set(parameter, key, clamped(parameter, value), arguments);
      case Reading::Widest: {
        const std::int64_t before = arguments.integer(parameter.name, 0);
        Arguments fresh;
        if (auto error = set(named(parameter, key), key, value, fresh)) return error;
        arguments.set(parameter.name, std::max(before, fresh.integer(key, 0)));
        return std::nullopt;
      }
      default:
        if (stands_for_nothing(parameter, value)) return std::nullopt;
        return set(parameter, key, value, arguments);
    }
  }

  // Strict modes make a model give every argument, so it gives empty ones for those it omits. An
  // empty text is a value only where any bytes are.
  static bool stands_for_nothing(const Parameter& parameter, const Json& value) {
    if (parameter.presence == Parameter::Presence::Required) return false;
    if (parameter.type == Type::ObjectList) return value.is_array() && value.empty();
    return parameter.type == Type::String && !parameter.may_hold_nul && value.is_string() &&
           value.get_ref<const std::string&>().empty();
  }

  // The same parameter, for messages about a value that came under another name.
  static Parameter named(const Parameter& parameter, const std::string& name) {
    Parameter copy = parameter;
    copy.name = name;
    copy.roomkit_name.clear();
    return copy;
  }

  // For a timeout of at most an hour, a number this large can be no seconds.
  static bool is_in_milliseconds(const Parameter& parameter, const Json& value) {
    const bool is_short =
        parameter.most != Parameter::kNoBound && parameter.most < kLeastMilliseconds;
    return is_short && value.is_number() &&
           value.get<double>() >= static_cast<double>(kLeastMilliseconds);
  }
  static Json in_seconds(const Parameter& parameter, const Json& value) {
    if (!value.is_number()) return value;
    return clamped(parameter, std::ceil(value.get<double>() / 1000));
  }
  // Numbers out of range become the nearest in range; nothing is lost by it.
  static Json clamped(const Parameter& parameter, const Json& value) {
    if (!value.is_number()) return value;
    const double number = value.get<double>();
    if (parameter.most != Parameter::kNoBound && number > static_cast<double>(parameter.most))
      return parameter.most;
    if (parameter.least != Parameter::kNoBound && number < static_cast<double>(parameter.least))
      return parameter.least;
    return value;
  }

  static const Parameter* find(const std::string& key, const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      const auto& also = parameter.aliases;
      const bool is_alias = std::find(also.begin(), also.end(), key) != also.end();
      if (key == parameter.name || key == parameter.roomkit_name || is_alias) return &parameter;
    }
    return nullptr;
  }

  [[nodiscard]] std::string names(const std::vector<Parameter>& parameters) const {
    std::string text;
    for (const Parameter& parameter : parameters) {
      if (!text.empty()) text += ", ";
      text += name_in(dialect_, parameter);
      if (parameter.presence == Parameter::Presence::Required) text += " (required)";
    }
    return text.empty() ? "none" : text;
  }

  [[nodiscard]] ToolError unknown(const std::string& key,
                                  const std::vector<Parameter>& parameters) const {
    std::vector<std::string> known;
    known.reserve(parameters.size());
    for (const Parameter& parameter : parameters)
      known.push_back(name_in(dialect_, parameter));
    const std::string best = closest_word(key, known);
    return {ErrorCode::InvalidArgument,
            fmt::format("there is no argument {}.", shown(Json(key))),
            {},
            best.empty() ? fmt::format("There are: {}.", names(parameters))
                         : fmt::format("Did you mean `{}`?", best)};
  }

  [[nodiscard]] ToolError wrong(const Parameter& parameter, std::string_view wanted,
                                const Json& got) const {
    return argument_error(
        fmt::format("`{}` must be {}, got {}.", name_in(dialect_, parameter), wanted, shown(got)));
  }

  [[nodiscard]] Checked convert(const Parameter& parameter, const Json& value) const {
    switch (parameter.type) {
      case Type::String:
        return text(parameter, value);
      case Type::Integer:
        return integer(parameter, value);
      case Type::Boolean:
        if (!value.is_boolean()) return wrong(parameter, "true or false", value);
        return Arguments::Value(value.get<bool>());
      case Type::StringList:
        return texts(parameter, value);
      case Type::ObjectList:
        return objects(parameter, value);
    }
    return wrong(parameter, "something else", value);
  }

  [[nodiscard]] Checked text(const Parameter& parameter, const Json& value) const {
    if (!value.is_string()) return wrong(parameter, "a string", value);
    auto given = value.get<std::string>();
    if (!parameter.may_hold_nul && given.find('\0') != std::string::npos)
      return wrong(parameter, "without NUL bytes", value);
    if (parameter.choices.empty()) return Arguments::Value(std::move(given));
    std::string all;
    for (const std::string& choice : parameter.choices) {
      // A choice "file|f" is named file; f is accepted too.
      const std::size_t bar = choice.find('|');
      const std::string first = choice.substr(0, bar);
      if (given == first || (bar != std::string::npos && given == choice.substr(bar + 1)))
        return Arguments::Value(first);
      all += (all.empty() ? "" : ", ") + first;
    }
    return wrong(parameter, "one of " + all, value);
  }

  // JSON has one kind of number: some clients write 1 as 1.0.
  [[nodiscard]] Checked integer(const Parameter& parameter, const Json& value) const {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;
    if (value.is_number_float()) {
      const auto number = value.get<double>();
      const bool is_whole = std::abs(number) < kExact && std::trunc(number) == number;
      if (is_whole) return integer(parameter, static_cast<std::int64_t>(number));
    }
    const bool is_huge = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() > static_cast<std::uint64_t>(kHuge);
    if (!value.is_number_integer() || is_huge) return wrong(parameter, "a whole number", value);
    const auto given = value.get<std::int64_t>();
    const bool counts_from_zero = dialect_ == Dialect::RoomKit && parameter.name == "offset";
    const std::int64_t shift = counts_from_zero && parameter.least == 1 ? 1 : 0;
    const bool has_least = parameter.least != Parameter::kNoBound;
    const bool has_most = parameter.most != Parameter::kNoBound;
    const bool is_low = has_least && given < parameter.least - shift;
    const bool is_high = has_most && given > parameter.most;
    if (!is_low && !is_high) return Arguments::Value(given + shift);
    const std::string range =
        has_most ? fmt::format("{}..{}", has_least ? parameter.least - shift : 0, parameter.most)
                 : fmt::format("{} or more", parameter.least - shift);
    return wrong(parameter, range, value);
  }

  // A single string is split into words as a shell would do it; no shell runs.
  [[nodiscard]] Checked texts(const Parameter& parameter, const Json& value) const {
    if (value.is_string()) {
      auto words = split_shell_words(value.get<std::string>());
      if (words) return Arguments::Value(std::move(*words));
      return argument_error(
          fmt::format("`{}`: {}.", name_in(dialect_, parameter), words.error().message),
          "Close the quote, or send a list of strings.");
    }
    if (!value.is_array()) return wrong(parameter, "a list of strings", value);
    std::vector<std::string> list;
    for (const Json& item : value) {
      if (!item.is_string()) return wrong(parameter, "a list of strings", item);
      list.push_back(item.get<std::string>());
      if (list.back().find('\0') != std::string::npos)
        return wrong(parameter, "without NUL bytes", item);
    }
    return Arguments::Value(std::move(list));
  }

  [[nodiscard]] Checked objects(const Parameter& parameter, const Json& value) const {
    if (!value.is_array()) return wrong(parameter, "a list of objects", value);
    std::vector<Arguments> list;
    for (const Json& item : value) {
      if (!item.is_object()) return wrong(parameter, "a list of objects", item);
      auto checked = check(item, parameter.fields, nullptr);
      if (auto* error = std::get_if<ToolError>(&checked)) {
        error->what = fmt::format("{}[{}]: {}", parameter.name, list.size(), error->what);
        return std::move(*error);
      }
      list.push_back(std::get<Arguments>(std::move(checked)));
    }
    return Arguments::Value(std::move(list));
  }

  Dialect dialect_;
};

}  // namespace

const std::string& name_in(Dialect dialect, const Parameter& parameter) {
  const bool is_renamed = dialect == Dialect::RoomKit && !parameter.roomkit_name.empty();
  return is_renamed ? parameter.roomkit_name : parameter.name;
}

CheckedArguments parse_arguments(const Tool& tool, std::string_view json, Dialect dialect) {
  auto parsed = parse_text(json);
  if (auto* error = std::get_if<ToolError>(&parsed)) return std::move(*error);
  return check_arguments(tool, std::get<Json>(parsed), dialect);
}

CheckedArguments check_arguments(const Tool& tool, const nlohmann::json& object, Dialect dialect) {
  if (!object.is_object())
    return argument_error(fmt::format("The arguments must be an object, got {}.", shown(object)),
                          R"(Send one object, like {"path": "src/a.c"}.)");
  return Checker(dialect).check(object, tool);
}

}  // namespace nutshell
