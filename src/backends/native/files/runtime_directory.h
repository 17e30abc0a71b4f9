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
  [[nodiscard]] std::filesystem::path life() const { return path / "launcher.alive"; }

  // NUTSHELL_RUNTIME_DIR, or /run/nutshell for root, or a folder of XDG_RUNTIME_DIR, or one in
  // /tmp. Made if missing; refused if anyone else could have a hand in it.
  static Result<RuntimeDirectory> open();
};

// Held while a launcher is looked for, started or leaving, so that none is started twice and none
// leaves under a client's hands.
class LauncherLock {
 public:
  // Unavailable if another process does not let go of it.
  static Result<LauncherLock> take(const RuntimeDirectory& directory);
  static Result<LauncherLock> try_take(const RuntimeDirectory& directory);

 private:
  explicit LauncherLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

// Held by the launcher for as long as it lives, so that a launcher which does not answer is told
// from one that is not there. Only its holder may bind the socket or remove it.
class LifeLock {
 public:
  // For the launcher: children that it clones do not have the lock, whatever they inherit. A
  // process that opens and closes the file a second time loses it.
  static Result<LifeLock> take_for_life(const RuntimeDirectory& directory);
  // For a moment, by a process with threads. Unavailable while a launcher lives.
  static Result<LifeLock> borrow(const RuntimeDirectory& directory);
  static Result<bool> is_held(const RuntimeDirectory& directory);

  void release() { file_.reset(); }

 private:
  explicit LifeLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace nutshell::native
