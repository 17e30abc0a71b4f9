#include "backends/docker/engine/engine_json.h"

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace nutshell::docker {

Result<Json> parse_json(std::string_view text) {
  auto document = parse_strict(text, {.values = 4'000'000});  // a list of many containers
  if (!document) return failure(ErrorCode::Corrupt, document.error().message);
  return document;
}

std::int64_t number_of(const Json& object, const char* name) {
  const Json* found = member(object, name);
  return found != nullptr && found->is_number() ? found->get<std::int64_t>() : 0;
}

bool is_true(const Json& object, const char* name) {
  const Json* found = member(object, name);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::map<std::string, std::string> texts_by_name(const Json& object, const char* name) {
  std::map<std::string, std::string> texts;
  const Json* list = member(object, name);
  if (list == nullptr || !list->is_object()) return texts;
  for (const auto& [key, value] : list->items()) {
    if (value.is_string()) texts[key] = value.get<std::string>();
  }
  return texts;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string line(text.substr(0, most));
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f) letter = ' ';
  }
  return line;
}

}  // namespace nutshell::docker
