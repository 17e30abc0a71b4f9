// /workspace as layers: the user's directory at the bottom, never written to, and over it layers of
// the sandbox's own, of which the top one takes what is written.
#pragma once

#include <string>
#include <vector>

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/layer_names.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

// Whether a directory whose file system translates no owners is brought all the same, with the
// owners it has on the host.
enum class Translation { Required, WherePossible };

struct HostDirectory {
  std::string path;
  UnsafeMount::Access access = UnsafeMount::Access::ReadOnly;
  Privilege privilege = Privilege::Rootless;
  HostIds owner;  // who the owner of the directory is to appear as
  Translation translation = Translation::Required;
};

// A detached mount of it, for this process to keep and its children to attach. Files of anybody
// but the directory's owner appear as nobody's.
Result<UniqueFd> bring_host_directory(const HostDirectory& directory);
// Another one of what was brought, and an error if the path leads elsewhere by now. Where a mount
// is attached it is used up, and only where it was made can it be copied.
Result<UniqueFd> bring_again(const UniqueFd& brought, const HostDirectory& directory);

// Names of init's choice: letters and digits, no two the same, a bounded number.
Result<> check_layers(const std::vector<std::string>& layers);

struct WorkspaceStack {
  int store = -1;  // root of the scratch file system, in this mount namespace; holds the layers
  int base = -1;   // detached mount of the user's directory, to be used up; -1: there is none
  std::vector<std::string> layers;  // lowest first; the last one is written to
};

enum class Standing {
  Hidden,    // what is at /workspace stays below
  Replaced,  // it goes, and there is no moment at which what is below it shows
};

// Makes the stack what /workspace shows. Changes the working directory of the process.
Result<> mount_workspace(const WorkspaceStack& stack, Standing standing);
// The two steps of it: the stack as a detached mount, and putting that where it shows.
Result<UniqueFd> make_workspace(const WorkspaceStack& stack);
Result<> show_workspace(int workspace, Standing standing);

}  // namespace nutshell::native
