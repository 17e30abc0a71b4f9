// The directory in which a user's launcher listens, which only this user can enter, and the locks
// in it.
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

  // Opens $NUTSHELL_RUNTIME_DIR, or /run/nutshell for root, or a folder in $XDG_RUNTIME_DIR or
  // /tmp. Makes it if it is missing; refuses it if another user could write to it or replace it.
  static Result<RuntimeDirectory> open();
};

// Held by a client while it connects to the launcher or starts it, and by a launcher while it
// exits. So no two launchers are started, and none exits while a client connects.
class LauncherLock {
 public:
  // Unavailable if another process holds it for too long.
  static Result<LauncherLock> take(const RuntimeDirectory& directory);
  static Result<LauncherLock> try_take(const RuntimeDirectory& directory);

 private:
  explicit LauncherLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

// Held by the launcher for as long as it lives, so that clients can tell a launcher that does not
// answer from none at all. Only its holder may bind the socket or remove it.
class InstanceLock {
 public:
  // For the launcher: a lock that its children do not inherit. The process must not open and close
  // the file a second time, because that releases the lock.
  static Result<InstanceLock> take_for_life(const RuntimeDirectory& directory);
  // For a process with threads, to hold it for a moment. Unavailable while a launcher lives.
  static Result<InstanceLock> borrow(const RuntimeDirectory& directory);
  static Result<bool> is_held(const RuntimeDirectory& directory);

  void release() { file_.reset(); }

 private:
  explicit InstanceLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace nutshell::native
