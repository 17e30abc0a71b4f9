// The table of paths that a tool on the host runs or trusts by itself, before the user decides to
// run any code of the project. Ordinary code (Makefiles, sources, tests) is not in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

struct TrustedPath {
  // One component of a path, or several with slashes between them, in lower case; it matches at any
  // depth, with whatever lies below. One '*' stands for any characters of a component.
  std::string_view pattern;
  std::string_view tool;
  std::string_view why;  // a sentence without subject: "runs it when …"
};

const std::vector<TrustedPath>& trusted_paths();

struct TrustedMatch {
  const TrustedPath* row = nullptr;
  std::size_t depth = 0;  // of the matched path, in components
};

// The outermost match.
std::optional<TrustedMatch> match_trusted_path(const std::vector<std::string>& folded);

// Finds a path that leads to one of the table: ".github" for ".github/hooks". A link there would
// lead the tool to files with other names.
std::optional<TrustedMatch> match_way_to_trusted_path(const std::vector<std::string>& folded);

}  // namespace nutshell
