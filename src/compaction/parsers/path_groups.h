// Joins paths by directory. Each line has the whole directory and whole names, so that a reader can
// copy what the next call needs:
//
//   src/: http.cc tls.cc      src/http.cc and src/tls.cc
//   src/net/: a.md LICENSE    src/net/a.md and src/net/LICENSE
//   docs/one.md
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::compaction {

// Returns every path, directories in order of their names, names in order of appearance. A path
// with blanks, or with marks that mean something here, stands whole on a line of its own. Unless
// there are no notes, each path has one, which follows its name in brackets: "src/: a.c (4) b.c
// (8)".
std::vector<std::string> group_paths(std::span<const std::string_view> paths,
                                     std::span<const std::string_view> notes = {});

}  // namespace nutshell::compaction
