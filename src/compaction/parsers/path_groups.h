// Paths with what they share said once: "src/net/{http,tls}.cc", "docs/: a.md LICENSE".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::compaction {

// Every path is in the result, grouped by directory in order of appearance. One with blanks, commas
// or braces in it stands whole on a line of its own.
std::vector<std::string> group_paths(std::span<const std::string_view> paths);

}  // namespace nutshell::compaction
