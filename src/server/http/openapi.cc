#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/http/api.h"
#include "server/http/shapes.h"

namespace nutshell::server {
namespace {

Json reference(const Shape& shape) {
  return {{"$ref", "#/components/schemas/" + shape.name}};
}

void collect(const Shape& shape, Json& schemas) {
  if (!schemas.contains(shape.name)) schemas[shape.name] = schema_of(shape);
}

Json parameters_of(const Route& route) {
  Json list = Json::array();
  std::string_view path = route.path;
  for (std::size_t open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
    const std::string name(path.substr(open + 1, path.find('}', open) - open - 1));
    list.push_back({{"name", name},
                    {"in", "path"},
                    {"required", true},
                    {"schema", {{"type", "string"}, {"minLength", 1}}}});
  }
  for (const Parameter& one : route.query) {
    const Field field{.name = one.name, .type = one.type, .least = one.least, .most = one.most};
    list.push_back({{"name", one.name},
                    {"in", "query"},
                    {"description", one.help},
                    {"required", one.presence == Field::Presence::Required},
                    {"schema", schema_of(field)}});
  }
  if (route.takes_idempotency_key) {
    list.push_back(
        {{"name", "Idempotency-Key"},
         {"in", "header"},
         {"description", "the same key again gives the same answer and does nothing new"},
         {"required", false},
         {"schema", {{"type", "string"}, {"maxLength", 255}}}});
  }
  return list;
}

Json response_of(const Route& route, const std::function<const Shape&()>& gives, Json& schemas) {
  Json response = {{"description", "done"}};
  if (gives) {
    collect(gives(), schemas);
    response["content"] = {{route.media_type, {{"schema", reference(gives())}}}};
  } else if (route.success == 200) {
    response["content"] = {{route.media_type, Json::object()}};
  }
  return response;
}

Json operation_of(const Route& route, Json& schemas) {
  Json operation = {{"operationId", route.name}, {"summary", route.summary}};
  const Json parameters = parameters_of(route);
  if (!parameters.empty()) operation["parameters"] = parameters;
  if (route.body == Route::Body::Object) {
    if (route.takes) collect(route.takes(), schemas);
    const Json schema = route.takes ? reference(route.takes()) : Json{{"type", "object"}};
    operation["requestBody"] = {{"required", true},
                                {"content", {{"application/json", {{"schema", schema}}}}}};
  }
  if (route.body == Route::Body::Bytes) {
    const Json bytes = {{"type", "string"}, {"format", "binary"}};
    operation["requestBody"] = {{"required", true},
                                {"content", {{"application/octet-stream", {{"schema", bytes}}}}}};
  }
  Json responses = {{std::to_string(route.success), response_of(route, route.gives, schemas)}};
  for (const auto& [status, gives] : route.others)
    responses[std::to_string(status)] = response_of(route, gives, schemas);
  responses["default"] = {
      {"description", "why not"},
      {"content", {{"application/problem+json", {{"schema", reference(problem_shape())}}}}}};
  operation["responses"] = responses;
  if (route.access == Route::Access::Anyone) operation["security"] = Json::array();
  return operation;
}

std::string lower(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

}  // namespace

std::string openapi_of(const std::vector<Route>& routes) {
  Json schemas = Json::object();
  Json paths = Json::object();
  collect(problem_shape(), schemas);
  for (const Route& route : routes) {
    if (route.is_other_protocol) continue;
    paths[route.path][lower(route.method)] = operation_of(route, schemas);
  }
  const Json document = {
      {"openapi", "3.0.3"},
      {"info", {{"title", "Nutshell"}, {"version", "1"}}},
      {"paths", paths},
      {"components",
       {{"schemas", schemas},
        {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
      {"security", Json::array({{{"token", Json::array()}}, Json::object()})}};
  return dump_json(document);
}

}  // namespace nutshell::server
