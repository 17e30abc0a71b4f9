// All nouns that the API shows, as data: for `nutshell schema`, the proto and client libraries.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/shape.h"

namespace nutshell {

struct NounDescription {
  NounInfo info;
  const Shape& taken;
  const Shape& given;
};

const std::vector<NounDescription>& all_nouns();

// A JSON document with every field: number, name, type, bounds, words, who may set it, flag, help.
std::string schema_text();

// Replaces each line `@Noun@` of a proto template by the fields of that noun.
Result<std::string> fill_proto(std::string_view proto);

}  // namespace nutshell
