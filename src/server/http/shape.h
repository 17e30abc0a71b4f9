// The shape of JSON objects: the checks of what clients send and the schemas of the OpenAPI
// document are both made from it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/http/json.h"

namespace nutshell::server {

struct Shape;

struct Field {
  enum class Type : std::uint8_t {
    Text,
    Integer,
    Number,
    Boolean,
    TextList,
    TextLists,  // a list of lists of texts
    TextMap,
    Object,
    ObjectList,
    Any,
  };
  enum class Presence : std::uint8_t { Optional, Required, Nullable };
  static constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::min();

  std::string name;
  Type type = Type::Text;
  std::string help = {};
  Presence presence = Presence::Optional;
  std::function<const Shape&()> of = nullptr;  // of an Object, or each of an ObjectList
  std::int64_t least = kNoBound;
  std::int64_t most = kNoBound;
  std::vector<std::string> choices = {};
};

struct Shape {
  std::string name;  // in the OpenAPI document
  std::vector<Field> fields;
};

// Refuses what the shape does not have, with what was probably meant.
Result<> check_shape(const Json& value, const Shape& shape, const std::string& where = {});
Json schema_of(const Shape& shape);
Json schema_of(const Field& field);

}  // namespace nutshell::server
