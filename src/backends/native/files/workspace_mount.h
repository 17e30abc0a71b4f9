// Mounts /workspace as an overlay: the user's directory at the bottom, which is never written to,
// and above it layers of the sandbox's own, the top one of which takes what is written.
#pragma once

#include <string>
#include <vector>

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/layer_names.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

// Whether the directory's owner is mapped to the sandbox's user. Where its file system does not
// support that, WherePossible mounts it with the owners it has on the host, and Required refuses
// it.
enum class Translation { Required, WherePossible, None };

struct HostDirectory {
  std::string path;
  UnsafeMount::Access access = UnsafeMount::Access::ReadOnly;
  Privilege privilege = Privilege::Rootless;
  HostIds owner;  // the user to whom the directory's owner is mapped
  Translation translation = Translation::Required;
};

// Returns a detached mount of the directory, which children of this process can attach. Files of
// other users than the directory's owner appear as owned by nobody.
Result<UniqueFd> bring_host_directory(const HostDirectory& directory);
// Returns the same of a directory, and of a small file a descriptor to read it. `like` says how a
// directory is mounted. A directory that every user of the host may read is shown as they see it,
// without translation: otherwise root's sandbox could read what only root may read in it.
Result<UniqueFd> bring_shown(const std::string& path, const HostDirectory& like);
// Returns another mount of the same directory; NotFound if the path now leads to another one. A
// detached mount can be attached once, and copied only in the mount namespace where it was made.
Result<UniqueFd> bring_again(const UniqueFd& brought, const HostDirectory& directory);

// Checks the names, which init has chosen: letters and digits, all different, not too many.
Result<> check_layers(const std::vector<std::string>& layers);

struct WorkspaceStack {
  int store = -1;  // root of the scratch file system, in this mount namespace; holds the layers
  int base = -1;   // detached mount of the user's directory, which gets attached; -1 for none
  std::vector<std::string> layers;  // lowest first; the last one is written to
};

// Says how a new mount treats the mount that is already at /workspace.
enum class OldMount {
  Covered,
  Replaced,  // at no moment does /workspace show what is below the old mount
};

// Makes the overlay and mounts it on /workspace. Changes the working directory of the process.
Result<> mount_workspace(const WorkspaceStack& stack, OldMount old_mount);
// The two steps of mount_workspace().
Result<UniqueFd> make_workspace(const WorkspaceStack& stack);
Result<> show_workspace(int workspace, OldMount old_mount);

}  // namespace nutshell::native
