// The template of a line: the line without its numbers, times and ids. Log lines of one template
// say the same about different things.
#pragma once

#include <cstdint>
#include <string_view>

namespace nutshell::compaction {

// Returns the status of the answer in a line of an access log, `"GET / HTTP/1.1" 503 12`; 0 if
// there is none.
unsigned http_status(std::string_view line);

// Returns a hash that is equal for lines that differ only in words with digits. The line and column
// of a place ("Main.java:7", or "2:9" at the start) are kept apart.
std::uint64_t template_of(std::string_view line);

// Returns the line without the time and brackets at its start.
std::string_view without_time(std::string_view line);

// Returns whether a line has a time of day near its start, or a level as its first word.
bool is_log_line(std::string_view line);

}  // namespace nutshell::compaction
