// Checks of what clients send, and the schemas of the OpenAPI document, made from shapes.
#pragma once

#include <string>

#include "base/result.h"
#include "core/shape.h"
#include "server/http/json.h"

namespace nutshell::server {

using nutshell::Field;
using nutshell::Shape;

// Refuses what the shape does not have, with what was probably meant.
Result<> check_shape(const Json& value, const Shape& shape, const std::string& where = {});
Json schema_of(const Shape& shape);
Json schema_of(const Field& field);

}  // namespace nutshell::server
