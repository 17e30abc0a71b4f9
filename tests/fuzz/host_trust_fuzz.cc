#include <cstdlib>
#include <string>

#include "entry_points.h"
#include "runtime/folded_name.h"
#include "runtime/git_configuration.h"
#include "runtime/git_index.h"
#include "runtime/package_members.h"

namespace nutshell::fuzz {

// Files that decide what `apply` holds back: each is read or refused, and no path leaves its place.
void fuzz_host_trust(std::string_view input) {
  (void)trouble_with_index(input);
  (void)changed_member(std::nullopt, std::string(input));
  for (const std::string& path : work_tree_paths_in(input, "/top")) {
    if (path.empty() || path.starts_with('/') || path == ".." || path.starts_with("../"))
      std::abort();
  }
  for (const std::string& name : fold_path(input)) {
    if (name.ends_with('.') || name.ends_with(' ') || name.find(':') != std::string::npos)
      std::abort();
  }
}

}  // namespace nutshell::fuzz
