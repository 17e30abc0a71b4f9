// Shows parts of the host in a sandbox at paths of their own: directories and small files that it
// may read, and links. For a root that is an overlay with an upper layer in memory, before it
// becomes the root of the sandbox.
#pragma once

#include <string>
#include <vector>

#include "backends/native/files/mounts.h"
#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

// A directory or file of the host that is shown at `target`, an absolute path of the sandbox.
struct ShownPath {
  int source = -1;  // a detached mount of a directory, or an open file
  std::string target;
};

struct OwnPaths {
  std::vector<ShownPath> shown;
  // A path at which a link leads to /workspace; if empty, there is none.
  std::string project;

  [[nodiscard]] bool is_empty() const { return shown.empty() && project.empty(); }
};

// The largest file that is shown. Files are copied, because locks on a mounted file would be
// visible on the host.
inline constexpr std::size_t kMostShownFile = 1U << 20U;

struct OwnPathsPlace {
  int root = -1;          // the staged root
  std::string root_path;  // the path at which it is mounted now
  int memory = -1;        // a directory in memory, outside the root
  Privilege privilege = Privilege::Rootless;
};

// Makes the missing directories above each target. A directory is mounted read-only through an
// overlay of its own, as the host's /usr is (private_view.h). Changes the working directory.
Result<> show_own_paths(const OwnPaths& paths, const OwnPathsPlace& place);

// Makes the link of `project` below `root`, with the directories above it, unless something else is
// there.
Result<> link_project(const std::string& project, int root);

// Whether /workspace also gets a link at the path that its directory has on the host.
bool has_own_path(const std::string& workspace);

// Whether `path` is `directory` or lies below it.
bool is_at_or_below(std::string_view path, std::string_view directory);

}  // namespace nutshell::native
