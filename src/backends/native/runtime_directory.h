// Where a user's launcher can be found: a directory that only this user can enter.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

struct RuntimeDirectory {
  std::filesystem::path path;

  [[nodiscard]] std::filesystem::path socket() const { return path / "launcher.sock"; }
  [[nodiscard]] std::filesystem::path lock() const { return path / "launcher.lock"; }

  // NUTSHELL_RUNTIME_DIR, or /run/nutshell for root, or a folder of XDG_RUNTIME_DIR, or one in
  // /tmp. Made if missing; refused if anyone else could have a hand in it.
  static Result<RuntimeDirectory> open();
};

// Held while a launcher is looked for, started or leaving, so that none is started twice and none
// leaves under a client's hands.
class LauncherLock {
 public:
  static Result<LauncherLock> take(const RuntimeDirectory& directory);
  static Result<LauncherLock> try_take(const RuntimeDirectory& directory);

 private:
  explicit LauncherLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace nutshell::native
