// What of the default root need not be made for each sandbox: its links, its mount points, /etc and
// the devices. Written once into the user's runtime directory, mounted read-only by every sandbox,
// and written anew when the host's part of it has changed.
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
  // The one that fits this host as it is now. While the object lives, nobody sweeps it.
  static Result<RootTemplate> open(Privilege privilege);

  // Read-only, and by the only kind of mount whose entry in the mount table does not tell where the
  // template lies. Changes the working directory.
  [[nodiscard]] Result<> mount_on(const char* place) const;
  // An empty directory beside the tree.
  [[nodiscard]] Result<UniqueFd> open_empty_directory() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Whether its directory dev is what /dev is to be: only root may make devices.
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  // Paths of the host that are to be mounted where they are, below the tree: "usr",
  // "etc/java-17-openjdk".
  [[nodiscard]] const std::vector<std::string>& mounts() const { return mounts_; }

 private:
  RootTemplate(std::filesystem::path path, UniqueFd lock, Privilege privilege)
      : path_(std::move(path)), lock_(std::move(lock)), privilege_(privilege) {}

  std::filesystem::path path_;
  UniqueFd lock_;  // shared
  Privilege privilege_;
  bool has_devices_ = false;
  std::vector<std::string> mounts_;
};

// Removes templates of an earlier state of the host that no sandbox stands on, and unfinished ones.
void sweep_root_templates(SweepMode mode, SweepReport& report);

}  // namespace nutshell::native
