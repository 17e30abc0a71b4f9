#include "server/mcp/json_text.h"

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace nutshell::mcp {

std::string json_string(std::string_view text) {
  return dump_json(Json(text));
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
