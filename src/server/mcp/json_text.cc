#include "server/mcp/json_text.h"

#include <nlohmann/json.hpp>

namespace nutshell::mcp {

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_string(std::string_view text) {
  return dumped(Json(text));
}

std::string with_fields(std::string_view object, std::string_view fields) {
  if (fields.empty()) return std::string(object);
  std::string text;
  text.reserve(object.size() + fields.size() + 1);
  text.append(object.substr(0, object.size() - 1));
  if (text.size() > 1) text += ',';
  text.append(fields);
  text += '}';
  return text;
}

}  // namespace nutshell::mcp
