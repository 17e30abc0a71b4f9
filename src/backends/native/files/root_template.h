// The part of the default root that is the same for every sandbox: its links, its mount points,
// /etc and the devices. It is written once into the user's runtime directory, mounted read-only by
// every sandbox, and written again when the host's files that it was made from have changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/backend.h"

namespace nutshell::native {

class RootTemplate {
 public:
  // Opens the template that fits the host's present state, and writes it first if it is missing. No
  // sweep removes it while the object lives.
  static Result<RootTemplate> open(Privilege privilege);

  // Mounts it read-only, through an overlay, because the entry of any other mount in the mount
  // table would show the template's path. Changes the working directory.
  [[nodiscard]] Result<> mount_on(const char* place) const;
  // Opens the tree itself, to be the lower layer of an overlay.
  [[nodiscard]] Result<UniqueFd> open_tree() const;
  // Opens an empty directory beside the tree.
  [[nodiscard]] Result<UniqueFd> open_empty_directory() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Whether its directory dev has the devices: only root may make them.
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  // Paths of the host, such as "usr" and "etc/java-17-openjdk", that each sandbox mounts at the
  // same path of the tree.
  [[nodiscard]] const std::vector<std::string>& mounts() const { return mounts_; }

 private:
  RootTemplate(std::filesystem::path path, UniqueFd lock, Privilege privilege)
      : path_(std::move(path)), lock_(std::move(lock)), privilege_(privilege) {}

  std::filesystem::path path_;
  UniqueFd lock_;  // a shared lock on the directory
  Privilege privilege_;
  bool has_devices_ = false;
  std::vector<std::string> mounts_;
};

// Removes templates of an earlier state of the host that no sandbox uses, and unfinished ones.
void sweep_root_templates(SweepMode mode, SweepReport& report);

}  // namespace nutshell::native
