#include "core/json_members.h"

#include <nlohmann/json.hpp>

namespace nutshell {

using Json = nlohmann::json;

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::uint64_t count_of(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

std::vector<std::string> texts_of(const Json& object, const char* name, std::size_t most) {
  std::vector<std::string> texts;
  const Json* list = member(object, name);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& item : *list) {
    if (item.is_string() && texts.size() < most) texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace nutshell
