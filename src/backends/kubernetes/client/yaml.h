// Reads the YAML of kubeconfig files as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace nutshell::kubernetes {

// Every scalar becomes a string as it is written, except that a plain `null`, `~` or nothing
// becomes null. Refuses more than one document, a key that is given twice, keys that are no
// scalars, and aliases, with which a few bytes can stand for gigabytes.
Result<nlohmann::json> parse_yaml(std::string_view text);

}  // namespace nutshell::kubernetes
