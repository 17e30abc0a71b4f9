// Checks requests against shapes, and makes the schemas of the OpenAPI document from them.
#pragma once

#include <string>

#include "base/result.h"
#include "core/shape.h"
#include "server/http/json.h"

namespace nutshell::server {

using nutshell::Field;
using nutshell::Shape;

// Refuses unknown keys, with a suggestion, and wrong types.
Result<> check_shape(const Json& value, const Shape& shape, const std::string& where = {});
Json schema_of(const Shape& shape);
Json schema_of(const Field& field);

}  // namespace nutshell::server
