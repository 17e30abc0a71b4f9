// Keeps mount namespaces with which sandboxes of one image begin, so that a start copies a root
// file system in place of mounting it. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "backends/native/files/root_template.h"
#include "backends/native/files/rootfs.h"
#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// A mount namespace with a root mounted in it, used by one sandbox after the other. Each begins
// with a copy of it, which shares the overlays, so that the kernel need not make and destroy them
// for each sandbox. No lock or watch outlives its sandbox.
struct StagedRoot {
  UniqueFd mount_namespace;
  std::string image;
};

class StagedRoots {
 public:
  // `own_process` is a descriptor of this process; children that make namespaces end with it.
  void open(Privilege privilege, int own_process);

  // nullptr if roots are made in memory.
  [[nodiscard]] const RootTemplate* prepared_root() const {
    return prepared_root_ ? &*prepared_root_ : nullptr;
  }
  // Locks an imported image, so that it is not removed while sandboxes use it.
  Result<> hold_image(const std::string& image);
  // Returns a mount namespace from which a sandbox mounts its own root; -1 if there is none. If
  // making it failed, a start either fails with the same error or does not need it.
  int plain_template(const std::string& image);
  // Returns nullopt if all are in use.
  std::optional<StagedRoot> take(const std::string& image);
  void give_back(StagedRoot root);

 private:
  struct Templates {
    UniqueFd plain;
    std::deque<UniqueFd> with_root;  // those not in use
    std::size_t made_with_root = 0;  // those in use, too
  };
  Templates* find(const std::string& image);
  Result<UniqueFd> make(const std::string& image, MountTemplate kind) const;

  Privilege privilege_ = Privilege::Rootless;
  int own_process_ = -1;
  std::optional<RootTemplate> prepared_root_;
  std::map<std::string, Templates> templates_;   // by image
  std::map<std::string, UniqueFd> held_images_;  // locked while a root may use them
};

}  // namespace nutshell::native
