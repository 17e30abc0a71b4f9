// Sizes and durations as people write them: 512m, 1.5g, 30s, 500ms, 2h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// Digits with an optional fraction and a unit b, k, m, g, t (powers of 1024, "b" and "ib" may
// follow). Negative, empty, overflowing and unknown units are errors.
Result<std::uint64_t> parse_byte_size(std::string_view text);
std::string format_byte_size(std::uint64_t bytes);

// Digits with an optional fraction and a unit ms, s, m, h, d; without a unit, seconds.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

}  // namespace nutshell
