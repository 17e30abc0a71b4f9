// A process that saves the changes of one sandbox's workspace, and its caches, when the sandbox
// ends. It holds the sandbox's layers, which live in memory, and is no part of the sandbox: so the
// changes survive however the sandbox ends, and also the launcher's death.
#pragma once

#include <string>

#include "backends/native/start/starter.h"
#include "base/child_process.h"
#include "core/sandbox_status.h"
#include "saved/save_entry.h"
#include "saved/saved_workspaces.h"

namespace nutshell::native {

// Where and within which bounds the changes and the caches of a sandbox will be saved.
struct SavingOrder {
  std::string place;  // a directory that exists; empty: the changes are not saved
  saved::Bounds bounds;
  std::string caches;  // the base of saved::KeptCaches; empty: they are not saved
  saved::Bounds caches_bounds;
};

struct SavingPlan {
  const NativeSandbox& sandbox;
  const SandboxStatus& status;
  const SavingOrder& order;
  const saved::SaveEntry& save;
};

// Does nothing if it was not started. The destructor leaves the process alone.
class WorkspaceSaver {
 public:
  WorkspaceSaver() = default;
  static Result<WorkspaceSaver> start(const SavingPlan& plan);
  WorkspaceSaver(WorkspaceSaver&&) = default;
  WorkspaceSaver& operator=(WorkspaceSaver&&) = default;
  ~WorkspaceSaver() { child_.release(); }

  [[nodiscard]] bool is_started() const { return child_.is_owned(); }
  // Whether the process was started and has ended; reaps it.
  bool has_ended();

  // The sandbox ends, or has ended. The changes are saved with this reason.
  void save(const std::string& why) const;
  // The changes are not to be saved.
  void discard() const;

 private:
  ChildProcess child_;
  UniqueFd control_;
};

}  // namespace nutshell::native
