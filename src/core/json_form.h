// Nouns as JSON and back, made from their field lists (core/field.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/field.h"

namespace nutshell {

// Which fields are written.
enum class Written : std::uint8_t {
  Shown,    // in answers: without secrets and what is internal
  Request,  // what a caller may set, secrets included
  Kept,     // all of them, to be read again by Nutshell itself
};

template <Noun T>
nlohmann::ordered_json to_json(const T& noun, Written written = Written::Shown);
template <Noun T>
nlohmann::ordered_json to_json(const std::vector<T>& nouns, Written written = Written::Shown);
// Writes on one line. Bytes that are not UTF-8 become U+FFFD.
template <Noun T>
std::string to_json_text(const T& noun, Written written);

// Sets the members that `object` has; the others stay as they are. Refuses values of the wrong type
// and numbers that the member cannot hold. Ignores keys that are no fields.
template <Noun T>
Result<> read_json(const nlohmann::ordered_json& object, T& noun);
template <Noun T>
Result<T> from_json_text(std::string_view text);

}  // namespace nutshell
