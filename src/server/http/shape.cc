#include "server/http/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/closest_word.h"

namespace nutshell::server {
namespace {

using Type = Field::Type;

Failure wrong(const std::string& where, std::string_view what) {
  return failure(ErrorCode::InvalidArgument, fmt::format("{} {}", where, what));
}

bool is_text_list(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
}

bool is_of(const Json& value, Type type) {
  switch (type) {
    case Type::Text:
      return value.is_string();
    case Type::Integer:
      return value.is_number_integer();
    case Type::Number:
      return value.is_number();
    case Type::Boolean:
      return value.is_boolean();
    case Type::TextList:
      return is_text_list(value);
    case Type::TextLists:
      return value.is_array() && std::all_of(value.begin(), value.end(), is_text_list);
    case Type::TextMap:
      return value.is_object() && std::all_of(value.begin(), value.end(),
                                              [](const Json& item) { return item.is_string(); });
    case Type::Object:
      return value.is_object();
    case Type::ObjectList:
      return value.is_array();
    case Type::Any:
      return true;
  }
  return false;
}

const char* words_for(Type type) {
  switch (type) {
    case Type::Text:
      return "a text";
    case Type::Integer:
      return "a whole number";
    case Type::Number:
      return "a number";
    case Type::Boolean:
      return "true or false";
    case Type::TextList:
      return "a list of texts";
    case Type::TextLists:
      return "a list of lists of texts";
    case Type::TextMap:
      return "an object whose values are texts";
    case Type::Object:
      return "an object";
    case Type::ObjectList:
      return "a list of objects";
    case Type::Any:
      return "anything";
  }
  return "anything";
}

Result<> check_bounds(const Json& value, const Field& field, const std::string& where) {
  if (field.type == Type::Integer) {
    const bool is_huge = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    if (is_huge) return wrong(where, "is too large");
    const auto number = value.get<std::int64_t>();
    if (field.least != Field::kNoBound && number < field.least) {
      return wrong(where, fmt::format("must be at least {}", field.least));
    }
    if (field.most != Field::kNoBound && number > field.most) {
      return wrong(where, fmt::format("must be at most {}", field.most));
    }
  }
  if (!value.is_string()) return {};
  const bool is_long = field.most != Field::kNoBound && value.get_ref<const std::string&>().size() >
                                                            static_cast<std::size_t>(field.most);
  if (is_long) return wrong(where, fmt::format("has more than {} bytes", field.most));
  if (field.choices.empty()) return {};
  const auto word = value.get<std::string>();
  const auto& choices = field.choices;
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return {};
  return wrong(where, fmt::format("must be one of {}", fmt::join(choices, ", ")));
}

Result<> check_field(const Json& value, const Field& field, const std::string& where) {
  if (value.is_null() && field.presence == Field::Presence::Nullable) return {};
  if (!is_of(value, field.type)) {
    return wrong(where, fmt::format("must be {}", words_for(field.type)));
  }
  TRY(check_bounds(value, field, where));
  if (field.type == Type::Object && field.of) return check_shape(value, field.of(), where);
  if (field.type != Type::ObjectList || !field.of) return {};
  for (std::size_t i = 0; i < value.size(); ++i)
    TRY(check_shape(value[i], field.of(), fmt::format("{}[{}]", where, i)));
  return {};
}

Failure unknown_key(const Shape& shape, const std::string& path, const std::string& key) {
  std::vector<std::string> names;
  names.reserve(shape.fields.size());
  for (const Field& field : shape.fields)
    names.push_back(field.name);
  const std::string best = closest_word(key, names);
  const std::string hint = best.empty() ? fmt::format("known are {}", fmt::join(names, ", "))
                                        : fmt::format("did you mean '{}'?", best);
  return failure(ErrorCode::InvalidArgument, fmt::format("unknown key '{}': {}", path, hint));
}

}  // namespace

Result<> check_shape(const Json& value, const Shape& shape, const std::string& where) {
  if (!value.is_object()) return wrong(where.empty() ? "the body" : where, "must be an object");
  const std::string prefix = where.empty() ? "" : where + ".";
  for (const auto& [key, item] : value.items()) {
    const Field* field = shape.find(key);
    if (field == nullptr) return unknown_key(shape, prefix + key, key);
    TRY(check_field(item, *field, prefix + key));
  }
  for (const Field& field : shape.fields) {
    const bool is_missing =
        field.presence == Field::Presence::Required && !value.contains(field.name);
    if (is_missing) return wrong(prefix + field.name, "is missing");
  }
  return {};
}

Json schema_of(const Field& field) {
  const Json text = {{"type", "string"}};
  const Json texts = {{"type", "array"}, {"items", text}};
  Json schema = Json::object();
  switch (field.type) {
    case Type::Text:
      schema = text;
      break;
    case Type::Integer:
      schema = {{"type", "integer"}, {"format", "int64"}};
      break;
    case Type::Number:
      schema = {{"type", "number"}};
      break;
    case Type::Boolean:
      schema = {{"type", "boolean"}};
      break;
    case Type::TextList:
      schema = texts;
      break;
    case Type::TextLists:
      schema = {{"type", "array"}, {"items", texts}};
      break;
    case Type::TextMap:
      schema = {{"type", "object"}, {"additionalProperties", text}};
      break;
    case Type::Object:
      schema = field.of ? schema_of(field.of()) : Json{{"type", "object"}};
      break;
    case Type::ObjectList:
      schema = {{"type", "array"},
                {"items", field.of ? schema_of(field.of()) : Json{{"type", "object"}}}};
      break;
    case Type::Any:
      break;
  }
  if (!field.help.empty()) schema["description"] = field.help;
  if (field.least != Field::kNoBound) schema["minimum"] = field.least;
  if (field.most != Field::kNoBound)
    schema[field.type == Type::Text ? "maxLength" : "maximum"] = field.most;
  if (!field.choices.empty()) schema["enum"] = field.choices;
  if (field.presence == Field::Presence::Nullable) schema["nullable"] = true;
  return schema;
}

Json schema_of(const Shape& shape) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : shape.fields) {
    properties[field.name] = schema_of(field);
    if (field.presence == Field::Presence::Required) required.push_back(field.name);
  }
  Json schema = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

}  // namespace nutshell::server
