// Parses JSON from outside: clients, engines, archives and files that others wrote.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

struct JsonLimits {
  std::size_t bytes = 32U << 20U;
  std::size_t depth = 64;
  std::size_t values = 200'000;  // in all; each takes many times its text in memory
  std::size_t members = std::numeric_limits<std::size_t>::max();  // of one object
};

// Parse one value with nothing behind it. They refuse, with InvalidArgument, what exceeds the
// limits and what two readers could understand differently: a key given twice in one object, text
// that is not UTF-8, a byte order mark, a number that no double holds.
Result<nlohmann::json> parse_strict(std::string_view text, const JsonLimits& limits = {});
// Keeps members in their order.
Result<nlohmann::ordered_json> parse_strict_ordered(std::string_view text,
                                                    const JsonLimits& limits = {});

// Writes JSON on one line; bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const nlohmann::json& value);
std::string dump_json(const nlohmann::ordered_json& value);

}  // namespace nutshell
