// Paths with what they share said once, as a tree of directories:
//
//   src/*.cc: http tls        src/http.cc and src/tls.cc
//    net/: a.md LICENSE       src/net/a.md and src/net/LICENSE
//   docs/one.md
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::compaction {

// Every path is in the result, directories in order of their names, names in order of appearance.
// One with blanks or signs in it that mean something here stands whole on a line of its own.
std::vector<std::string> group_paths(std::span<const std::string_view> paths);

}  // namespace nutshell::compaction
