// What stays of a line when its numbers, times and ids are taken out: lines of one template say the
// same about different things.
#pragma once

#include <cstdint>
#include <string_view>

namespace nutshell::compaction {

// Equal for lines that differ only in words with digits in them.
std::uint64_t template_of(std::string_view line);

// The line without the time and brackets it begins with.
std::string_view without_time(std::string_view line);

// A time of day near the start, or a level as the first word.
bool is_log_line(std::string_view line);

}  // namespace nutshell::compaction
