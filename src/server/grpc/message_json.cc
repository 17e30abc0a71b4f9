#include "server/grpc/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/struct.pb.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/base64.h"

namespace nutshell::server {
namespace {

namespace pb = google::protobuf;

// The largest whole number that a double holds like any smaller one.
constexpr double kMostWhole = 9007199254740992.0;

Json value_json(const pb::Value& value);

Json struct_json(const pb::Struct& object) {
  Json json = Json::object();
  for (const auto& [name, value] : object.fields())
    json[name] = value_json(value);
  return json;
}

// A tool's schema tells integers from other numbers; this message type does not.
Json number_json(double number) {
  if (std::trunc(number) != number || std::abs(number) > kMostWhole) return number;
  return static_cast<std::int64_t>(number);
}

Json value_json(const pb::Value& value) {
  switch (value.kind_case()) {
    case pb::Value::kNumberValue:
      return number_json(value.number_value());
    case pb::Value::kStringValue:
      return value.string_value();
    case pb::Value::kBoolValue:
      return value.bool_value();
    case pb::Value::kStructValue:
      return struct_json(value.struct_value());
    case pb::Value::kListValue: {
      Json list = Json::array();
      for (const pb::Value& one : value.list_value().values())
        list.push_back(value_json(one));
      return list;
    }
    default:
      return nullptr;
  }
}

void set_value(pb::Value& value, const Json& json);

void set_struct(pb::Struct& object, const Json& json) {
  for (const auto& [name, one] : json.items())
    set_value((*object.mutable_fields())[name], one);
}

void set_value(pb::Value& value, const Json& json) {
  if (json.is_object()) {
    set_struct(*value.mutable_struct_value(), json);
  } else if (json.is_array()) {
    for (const Json& one : json)
      set_value(*value.mutable_list_value()->add_values(), one);
  } else if (json.is_string()) {
    value.set_string_value(json.get<std::string>());
  } else if (json.is_boolean()) {
    value.set_bool_value(json.get<bool>());
  } else if (json.is_number()) {
    value.set_number_value(json.get<double>());
  } else {
    value.set_null_value(pb::NULL_VALUE);
  }
}

// A list of lists has a message of one repeated field for the inner one.
const pb::FieldDescriptor* only_list(const pb::Descriptor& type) {
  const bool is_one = type.field_count() == 1 && type.field(0)->is_repeated() &&
                      type.full_name() == "nutshell.v1.CommandLine";
  return is_one ? type.field(0) : nullptr;
}

Json of_message(const pb::Message& message) {
  if (message.GetDescriptor() == pb::Struct::descriptor()) {
    return struct_json(static_cast<const pb::Struct&>(message));
  }
  if (message.GetDescriptor() == pb::Value::descriptor()) {
    return value_json(static_cast<const pb::Value&>(message));
  }
  Json json = to_json(message);
  if (const pb::FieldDescriptor* list = only_list(*message.GetDescriptor())) {
    return json.value(list->name(), Json::array());
  }
  return json;
}

// A text that is not a number is kept: the shape refuses it.
Json finite_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json(nullptr);
}

// `index` is the element of a repeated field; -1 for a single field.
Json scalar_json(const pb::Message& message, const pb::FieldDescriptor& field, int index) {
  const pb::Reflection& look = *message.GetReflection();
  const bool is_single = index < 0;
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return look.GetInt64(message, &field);
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return finite_or_null(look.GetDouble(message, &field));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return look.GetBool(message, &field);
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return is_single ? look.GetString(message, &field)
                       : look.GetRepeatedString(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return of_message(is_single ? look.GetMessage(message, &field)
                                  : look.GetRepeatedMessage(message, &field, index));
    default:
      return nullptr;
  }
}

Json map_json(const pb::Message& message, const pb::FieldDescriptor& field) {
  Json json = Json::object();
  const pb::Reflection& look = *message.GetReflection();
  for (int i = 0; i < look.FieldSize(message, &field); ++i) {
    const pb::Message& entry = look.GetRepeatedMessage(message, &field, i);
    const pb::Reflection& inside = *entry.GetReflection();
    const pb::Descriptor& type = *entry.GetDescriptor();
    // Appends without looking for the key, which is unique already: the search would be quadratic.
    json.get_ref<Json::object_t&>().emplace_back(inside.GetString(entry, type.map_key()),
                                                 inside.GetString(entry, type.map_value()));
  }
  return json;
}

void set_message(pb::Message& message, const Json& json) {
  if (message.GetDescriptor() == pb::Struct::descriptor()) {
    set_struct(static_cast<pb::Struct&>(message), json);
  } else if (message.GetDescriptor() == pb::Value::descriptor()) {
    set_value(static_cast<pb::Value&>(message), json);
  } else if (const auto* list = only_list(*message.GetDescriptor())) {
    fill(message, Json{{list->name(), json}});
  } else {
    fill(message, json);
  }
}

// Clamps a count that a signed number cannot hold.
std::int64_t whole_of(const Json& json) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (!json.is_number_unsigned()) return json.get<std::int64_t>();
  const auto number = json.get<std::uint64_t>();
  return number > static_cast<std::uint64_t>(kMost) ? kMost : static_cast<std::int64_t>(number);
}

void set_single(pb::Message& message, const pb::FieldDescriptor& field, const Json& json) {
  const pb::Reflection& look = *message.GetReflection();
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT64:
      if (json.is_number()) look.SetInt64(&message, &field, whole_of(json));
      return;
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      if (json.is_number()) look.SetDouble(&message, &field, json.get<double>());
      return;
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      if (json.is_boolean()) look.SetBool(&message, &field, json.get<bool>());
      return;
    case pb::FieldDescriptor::CPPTYPE_STRING:
      if (json.is_string()) look.SetString(&message, &field, json.get<std::string>());
      return;
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      set_message(*look.MutableMessage(&message, &field), json);
      return;
    default:
      return;
  }
}

void add_one(pb::Message& message, const pb::FieldDescriptor& field, const Json& json) {
  const pb::Reflection& look = *message.GetReflection();
  if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
    set_message(*look.AddMessage(&message, &field), json);
  } else if (json.is_string()) {
    look.AddString(&message, &field, json.get<std::string>());
  }
}

void set_map(pb::Message& message, const pb::FieldDescriptor& field, const Json& json) {
  for (const auto& [name, value] : json.items()) {
    pb::Message& entry = *message.GetReflection()->AddMessage(&message, &field);
    const pb::Descriptor& type = *entry.GetDescriptor();
    entry.GetReflection()->SetString(&entry, type.map_key(), name);
    if (value.is_string()) {
      entry.GetReflection()->SetString(&entry, type.map_value(), value.get<std::string>());
    }
  }
}

void set_field(pb::Message& message, const pb::FieldDescriptor& field, const Json& json) {
  if (json.is_null()) return;
  if (field.is_map()) {
    set_map(message, field, json);
  } else if (field.is_repeated()) {
    for (const Json& one : json)
      add_one(message, field, one);
  } else {
    set_single(message, field, json);
  }
}

}  // namespace

Json to_json(const pb::Message& message) {
  Json json = Json::object();
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->type() == pb::FieldDescriptor::TYPE_BYTES) continue;
    if (field->is_map()) {
      json[field->name()] = map_json(message, *field);
    } else if (field->is_repeated()) {
      Json list = Json::array();
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
        list.push_back(scalar_json(message, *field, i));
      json[field->name()] = std::move(list);
    } else {
      json[field->name()] = scalar_json(message, *field, -1);
    }
  }
  return json;
}

void fill(pb::Message& message, const Json& object) {
  const pb::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    if (field.type() == pb::FieldDescriptor::TYPE_BYTES && !field.is_repeated()) {
      const auto encoded = object.find(field.name() + "_base64");
      if (encoded != object.end() && encoded->is_string()) {
        const auto bytes = from_base64(encoded->get_ref<const std::string&>());
        message.GetReflection()->SetString(&message, &field, bytes.value_or(""));
        continue;
      }
    }
    if (const auto found = object.find(field.name()); found != object.end()) {
      set_field(message, field, *found);
    }
  }
}

}  // namespace nutshell::server
